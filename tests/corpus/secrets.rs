//! `heaplake secrets` on the heaps of real programs that hold the corpus of planted secrets and near misses.

use crate::packages::source;
use heaplake_support::lake::{Lake, answer, heaplake};
use heaplake_support::secret_corpus::heaps::halves;
use heaplake_support::secret_corpus::judge::Verdict;
use heaplake_support::secret_corpus::{Item, misses, secrets};
use serde_json::json;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that plants the corpus in a heap of Java; the classes of the holders follow it.
const PLANTER: &str = r#"
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

public class Planter {
    static final List<Object> planted = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split("\t");
            Object holder = Class.forName(parts[0], true, Planter.class.getClassLoader())
                .getDeclaredConstructor().newInstance();
            var field = holder.getClass().getDeclaredField(parts[1]);
            field.setAccessible(true);
            field.set(holder, value(parts[2], parts.length > 3 ? parts[3] : ""));
            planted.add(holder);
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(args[1], true);
    }

    static Object value(String place, String encoded) {
        byte[] bytes = Base64.getDecoder().decode(encoded);
        String text = new String(bytes, StandardCharsets.UTF_8);
        return switch (place) {
            case "chars" -> text.toCharArray();
            case "bytes" -> bytes;
            case "element" -> new Object[] {null, text};
            case "map" -> new HashMap<>(Map.of("id", text));
            case "pieces" -> new StringBuilder().append(text, 0, text.length() / 2)
                .append(text, text.length() / 2, text.length()).toString();
            default -> text;
        };
    }
}
"#;

/// Runs a program that must succeed.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Base64, as Java decodes it.
fn encoded(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.as_bytes().chunks(3).flat_map(|three| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        (0..=three.len()).map(move |at| DIGITS[bits >> (18 - 6 * at) & 63] as char)
    });
    let mut text: String = digits.collect();
    text.extend(std::iter::repeat_n('=', text.len().next_multiple_of(4) - text.len()));
    text
}

/// A dump of Java with the items.
fn java(lake: &Lake, items: &[Item]) -> PathBuf {
    let (mut program, mut list) = (PLANTER.to_owned(), String::new());
    for Item { holder, field, place, text, .. } in items {
        writeln!(program, "class {holder} {{ Object {field}; }}").unwrap();
        writeln!(list, "{holder}\t{field}\t{}\t{}", place.name(), encoded(text)).unwrap();
    }
    let (program, list) = (lake.input("Planter.java", program.as_bytes()), lake.input("items", list.as_bytes()));
    let dump = lake.folder().join("corpus.hprof");
    run(Command::new("java").args(["-Xmx256m", "-XX:+UseSerialGC"]).args([&program, &list, &dump]));
    dump
}

/// A snapshot of Node.js with the items.
fn node(lake: &Lake, items: &[Item]) -> PathBuf {
    let item = |item: &Item| {
        let (first, second) = halves(&item.text);
        json!({ "holder": item.holder, "field": item.field, "place": item.place.name(), "first": first, "second": second })
    };
    let list = json!(items.iter().map(item).collect::<Vec<_>>()).to_string();
    let (list, snapshot) = (lake.input("items.json", list.as_bytes()), lake.folder().join("corpus.heapsnapshot"));
    run(Command::new("node").arg("--expose-gc").arg(source("secrets.cjs")).args([&list, &snapshot]));
    snapshot
}

/// Searches a heap with the corpus, in which some secrets of the runtime itself may be found.
fn check(heap: &Path, most_others: usize) {
    // To compare with other tools.
    if let Some(folder) = std::env::var_os("HEAPLAKE_KEEP_HEAPS") {
        fs::copy(heap, Path::new(&folder).join(heap.file_name().unwrap())).unwrap();
    }
    let report = answer(heaplake().arg("secrets").arg(heap).arg("--json"));
    let verdict = Verdict::of(&report, &secrets(), &misses());
    eprintln!("{}: {}", heap.display(), verdict.text());
    assert!(verdict.recall() >= 0.99 && verdict.precision() >= 0.99, "{}", verdict.text());
    assert!(verdict.other.len() <= most_others, "{}", verdict.text());
}

#[test]
fn planted_secrets_are_found_in_a_heap_of_node() {
    if super::has("node") {
        let lake = Lake::new();
        check(&node(&lake, &[secrets(), misses()].concat()), 0);
    }
}

#[test]
fn planted_secrets_are_found_in_a_heap_of_java() {
    if super::has("java") {
        let lake = Lake::new();
        check(&java(&lake, &[secrets(), misses()].concat()), 0);
    }
}
