//! `heaplake analyze --texts hash|none`: no text of the heap in anything that a run leaves behind, and the numbers of a
//! run with texts.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use heaplake_schemas::{classes, duplicate_sets, edges, kinds, nodes};
use heaplake_support::canaries::{Canaries, Search};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake};
use heaplake_support::sensitive::{self, Snapshot};
use heaplake_support::table::Table;
use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

/// Order of the members of a snapshot, as V8 writes them.
const IN_ORDER: [&str; 3] = ["nodes", "edges", "strings"];

/// Options under which a run has all that it can have.
const ALL: [&str; 6] = ["--edges", "--values", "--duplicates", "all", "--report", "-v"];

/// Inputs full of canaries: name, content, canaries.
fn inputs(rounds: usize) -> Vec<(&'static str, Vec<u8>, Canaries)> {
    let (snapshot, canaries) = sensitive::v8(rounds);
    let mut inputs = vec![("a.heapsnapshot", snapshot.file(IN_ORDER), canaries)];
    for (name, id) in [("b.hprof", 8), ("c.hprof", 4)] {
        let (dump, canaries) = sensitive::java(rounds, id);
        inputs.push((name, dump, canaries));
    }
    inputs
}

/// `heaplake analyze INPUT --out LAKE`, with the options of [`ALL`] and `--texts TEXTS`.
fn analyze(lake: &Lake, input: &Path, texts: &str) -> assert_cmd::Command {
    let mut command = heaplake();
    command.arg("analyze").arg(input).arg("--out").arg(lake.path()).args(ALL).args(["--texts", texts]);
    command
}

/// Everything that a command prints.
fn printed(command: &mut assert_cmd::Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    [output.stdout, output.stderr].concat()
}

/// Everything that questions about a run print.
fn answers(run: &Path, lake: &Lake) -> Vec<u8> {
    let count = Table::read(run, nodes::TABLE.file).rows();
    let some = (0..count).step_by(count / 40 + 1).map(|node| node.to_string());
    let mut all = Vec::new();
    let mut ask = |arguments: &[&str]| {
        let mut command = heaplake();
        all.extend(command.args(arguments).output().unwrap().stdout);
    };
    let (run, place) = (run.to_str().unwrap(), lake.path().display().to_string());
    for command in ["show", "top"] {
        ask(&[command, run]);
        ask(&[command, run, "--json"]);
    }
    ask(&["ls", &place, "--json"]);
    ask(&["diff", run, run, "--objects"]);
    for node in some {
        ["why", "object", "dominators"].iter().for_each(|command| ask(&[command, run, &node]));
    }
    assert!(all.len() > 10_000, "{}", String::from_utf8_lossy(&all));
    all
}

#[test]
fn no_canary_remains_in_any_output() {
    for (name, content, canaries) in inputs(40) {
        let search = Search::new(&canaries);
        let lake = Lake::new();
        let input = lake.input(name, &content);
        assert!(canaries.texts.len() > 200 && search.found(&content).len() > 5);
        let findings = lake.folder().join("findings.json");
        for texts in ["hash", "none"] {
            let mut command = analyze(&lake, &input, texts);
            command.args(["--snapshot", texts, "--resume", "always", "--findings-json"]).arg(&findings);
            search.expect_none(name, &printed(&mut command));
            search.expect_none("findings", &fs::read(&findings).unwrap());
            let run = lake.path().join(format!("release=none/snapshot={texts}"));
            assert!(run.join("report.html").is_file());
            search.expect_none(&format!("answers about {name}"), &answers(&run, &lake));
        }
        assert!(search.expect_none_below(&lake.path()) > 20);
    }
}

/// The search finds canaries where they are.
#[test]
fn a_run_with_texts_has_canaries() {
    for (name, content, canaries) in inputs(3) {
        let (lake, search) = (Lake::new(), Search::new(&canaries));
        analyze(&lake, &lake.input(name, &content), "full").assert().success();
        let run = lake.run();
        for file in ["report.html", "run.json"] {
            assert!(!search.found(&fs::read(run.join(file)).unwrap()).is_empty(), "{name} {file}");
        }
        let cells = heaplake_support::canaries::cells(&run.join(nodes::TABLE.file));
        assert!(search.found(cells.as_bytes()).len() > 5, "{name}");
    }
}

/// Columns of a table without its texts, and without what is computed from names.
fn numbers(run: &Path, file: &str) -> Vec<(String, ArrayRef)> {
    let table = Table::read(run, file).0;
    let fields = table.schema().fields().clone();
    let columns = fields.iter().zip(table.columns());
    let is_number = |of: &DataType| of.is_numeric() || matches!(of, DataType::Boolean | DataType::Timestamp(..));
    columns
        .filter(|(field, _)| is_number(field.data_type()) && !field.name().contains("fingerprint"))
        .map(|(field, column)| (field.name().clone(), column.clone()))
        .collect()
}

/// Duplicate sets without previews, sorted.
fn sets(run: &Path) -> Vec<(String, String, [Option<u64>; 3])> {
    let table = Table::read(run, duplicate_sets::TABLE.file);
    let figures = ["members", "instance_bytes", "additional_bytes"].map(|column| table.u64s(column));
    let texts = table.strings("class").into_iter().zip(table.strings("status"));
    let rows = texts.enumerate().map(|(row, (class, status))| (class, status, figures.each_ref().map(|of| of[row])));
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

/// The runs of an input with each choice of texts.
fn runs(lake: &Lake, input: &Path) -> [PathBuf; 3] {
    ["full", "hash", "none"].map(|texts| {
        lake.analyze(input).args(ALL).args(["--texts", texts, "--snapshot", texts]).assert().success();
        lake.path().join(format!("release=none/snapshot={texts}"))
    })
}

#[test]
fn numbers_are_those_of_a_run_with_texts() {
    let real = [
        "v8/small_internals_numeric.heapsnapshot.zst",
        "v8/alloc20.heapsnapshot.zst",
        "jvm/dupfix.hprof.zst",
        "jvm/two-dumps.hprof.zst",
    ];
    let planted = inputs(10);
    let planted = planted.iter().map(|(name, content, _)| ((*name).to_owned(), content.clone()));
    let real = real.map(|name| {
        let content = zstd::decode_all(fs::read(fixtures::path(name)).unwrap().as_slice()).unwrap();
        (name.rsplit_once('/').unwrap().1.trim_end_matches(".zst").to_owned(), content)
    });
    for (name, content) in planted.chain(real) {
        let lake = Lake::new();
        let [full, hash, none] = runs(&lake, &lake.input(&name, &content));
        for run in [&hash, &none] {
            for file in [nodes::TABLE.file, edges::TABLE.file, classes::TABLE.file, kinds::TABLE.file] {
                let (before, after) = (numbers(&full, file), numbers(run, file));
                assert!(before.len() > 1);
                for (before, after) in before.iter().zip(&after) {
                    let is_absent = *run == none && before.0.contains("duplicate");
                    assert!(is_absent || before == after, "{name}: {} of {file} in {}", before.0, run.display());
                }
            }
        }
        assert_eq!(sets(&full), sets(&hash), "{name}");
        let [before, after] = [&full, &hash].map(|run| {
            let summary = run_json(run)["summary"].clone();
            let duplicates = summary["duplicates"].clone();
            let of = |field: &str| (field.to_owned(), duplicates[field].clone());
            let counts = ["exact", "limited", "open", "additional_bytes", "most_bytes", "possible_bytes"].map(of);
            (counts, summary["node_count"].clone(), summary["string_count"].clone(), summary["class_count"].clone())
        });
        assert_eq!(before, after, "{name}");
        assert!(!none.join(duplicate_sets::TABLE.file).exists());
        assert_eq!(run_json(&none)["summary"]["no_duplicates"], "the texts are absent (--texts none)");
    }
}

/// `redact` and `--texts` mask alike: with one key, a run is that of the redacted snapshot.
#[test]
fn a_masked_run_is_that_of_the_redacted_snapshot() {
    for (name, content, _) in inputs(5) {
        let lake = Lake::new();
        let (input, key) = (lake.input(name, &content), lake.folder().join("texts.key"));
        for texts in ["hash", "none"] {
            let redacted = lake.folder().join(format!("{texts}.{name}"));
            let mut redact = heaplake();
            redact.arg("redact").arg(&input).arg("-o").arg(&redacted).arg("--key").arg(&key);
            redact.args(["--texts", texts, "--quiet"]).assert().success();
            let cells = ["direct", "redacted"].map(|how| {
                let mut command = lake.analyze(if how == "direct" { &input } else { &redacted });
                if how == "direct" {
                    command.args(["--texts", texts, "--texts-key"]).arg(&key);
                }
                // Without texts, duplicates of the redacted snapshot are none.
                command
                    .args(["--edges", "--duplicates", "none", "--snapshot", &format!("{texts}-{how}")])
                    .assert()
                    .success();
                let run = lake.path().join(format!("release=none/snapshot={texts}-{how}"));
                let of =
                    |file: &str| heaplake_support::canaries::cells(&run.join(file)).replace(&format!("-{how}"), "");
                [nodes::TABLE.file, edges::TABLE.file, classes::TABLE.file].map(of).concat()
            });
            assert!(cells[0] == cells[1], "{name} {texts}");
        }
    }
}

fn run_json(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// A killed run leaves no text in scratch, and its resumption gives the tables of an undisturbed run.
#[test]
fn a_killed_run_leaves_no_canary_and_goes_on() {
    for (name, content, canaries) in inputs(6) {
        let (lake, search) = (Lake::new(), Search::new(&canaries));
        let input = lake.input(name, &content);
        let key = lake.folder().join("texts.key");
        let command = || {
            let mut command = analyze(&lake, &input, "hash");
            command.args(["--resume", "always", "--texts-key"]).arg(&key);
            command
        };
        command().assert().success();
        let expected = fs::read(lake.run().join(nodes::TABLE.file)).unwrap();
        fs::remove_dir_all(lake.path()).unwrap();
        let (mut killed, mut files) = (0, 0);
        for fault in kills() {
            let output = command().env("HEAPLAKE_FAULT", &fault).output().unwrap();
            if !output.status.success() {
                assert_eq!(output.status.signal(), Some(9), "{fault}: {}", String::from_utf8_lossy(&output.stderr));
                killed += 1;
                search.expect_none(&fault, &[output.stdout, output.stderr].concat());
                files += search.expect_none_below(&lake.path());
                command().assert().success();
            }
            assert!(fs::read(lake.run().join(nodes::TABLE.file)).unwrap() == expected, "{name} {fault}");
            fs::remove_dir_all(lake.path()).unwrap();
        }
        assert!(killed > 15 && files > 100, "{killed} kills, {files} files");
    }
}

/// Faults that kill a run before and after its reader ends.
fn kills() -> Vec<String> {
    let writes = (1..60).step_by(4).map(|call| format!("write:{call}:kill"));
    let entries = (1..40).step_by(6).map(|call| format!("rename:{call}:kill:journal.json"));
    writes.chain(entries).chain([1, 2, 3].map(|call| format!("open:{call}:kill:jvm.content"))).collect()
}

/// A stream is copied while it is masked; the copy is gone at the end, and after a kill.
#[test]
fn streams_leave_nothing() {
    for (name, content, canaries) in inputs(4) {
        let (lake, search) = (Lake::new(), Search::new(&canaries));
        let command = || {
            let mut command = analyze(&lake, Path::new("-"), "hash");
            command.args(["--snapshot", "piped"]).write_stdin(content.clone());
            command
        };
        let output = command().env("HEAPLAKE_FAULT", "write:9:kill").output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{name}");
        search.expect_none_below(&lake.path());
        search.expect_none(name, &printed(&mut command()));
        search.expect_none_below(&lake.path());
        let input = lake.input(name, &content);
        let hash = run_json(&lake.run())["input_hash"].clone();
        lake.analyze(&input).args(["--snapshot", "read"]).assert().success();
        assert_eq!(run_json(&lake.path().join("release=none/snapshot=read"))["input_hash"], hash);
    }
}

#[test]
fn errors_quote_nothing_of_a_damaged_input() {
    let lake = Lake::new();
    let mut canaries = Canaries::default();
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    let text = String::from_utf8(snapshot.file(IN_ORDER)).unwrap();
    let secret = canaries.latin();
    let damaged = [
        text.replace("\"strings\":[\"\"]", &format!("\"strings\":[\"\" {secret}]")),
        text.replace("\"nodes\":[", &format!("\"nodes\":[{secret}")),
        text.replace("\"node_fields\":[", &format!("\"node_fields\":{{\"{secret}\":1}},\"x\":[")),
        format!("{text}{{\"{secret}\""),
    ];
    let search = Search::new(&canaries);
    let mut quoted = 0;
    for content in damaged {
        assert_ne!(content, text);
        let input = lake.input("a.heapsnapshot", content.as_bytes());
        let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
        quoted += u32::from(cause.contains("geheim"));
        let (masked, same) = diagnostic(lake.analyze(&input).args(["--texts", "hash"]), 1);
        search.expect_none("message", masked.as_bytes());
        assert!(masked.contains("a.heapsnapshot: byte ") && !masked.contains("geheim") && same == advice, "{masked}");
    }
    assert!(quoted >= 2, "the errors of a run with texts quote them");
    let behind = lake.input("b.heapsnapshot", format!("{text} {secret}").as_bytes());
    search.expect_none("remark", &printed(&mut analyze(&lake, &behind, "hash")));
    search.expect_none_below(&lake.path());
}

#[test]
fn what_cannot_be_masked_is_refused() {
    let lake = Lake::new();
    let trace = fixtures::path("dotnet/both.nettrace.zst");
    let (cause, advice) = diagnostic(lake.analyze(&trace).args(["--texts", "hash"]), 1);
    assert!(cause.contains("--texts cannot mask the texts of this format, "), "{cause}");
    assert!(advice.contains("V8 heap snapshot") && advice.contains("Java heap dump"), "{advice}");
    let (snapshot, canaries) = sensitive::v8(1);
    for order in [["strings", "nodes", "edges"], ["nodes", "strings", "edges"]] {
        let input = lake.input("a.heapsnapshot", &snapshot.file(order));
        let (cause, advice) = diagnostic(lake.analyze(&input).args(["--texts", "none"]), 1);
        assert!(
            cause.contains("expected nodes and edges before the strings") && advice.contains("heaplake redact"),
            "{cause}"
        );
    }
    let input = lake.input("b.heapsnapshot", &snapshot.file(IN_ORDER));
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--texts", "hash", "--salvage"]), 2);
    assert!(cause.starts_with("--salvage"), "{cause}");
    for option in [["--texts-key", "key"], ["--texts-keep", "a*"]] {
        let (cause, _) = diagnostic(lake.analyze(&input).args(option), 2);
        assert!(cause.contains("masks nothing without --texts hash or none"), "{cause}");
    }
    let key = lake.path().join("texts.key");
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--texts", "hash", "--texts-key"]).arg(&key), 2);
    assert!(cause.ends_with("the key must not lie in the lake") && !key.exists(), "{cause}");
    Search::new(&canaries).expect_none_below(&lake.path());
}

#[test]
fn runs_with_other_texts_or_keys_are_others() {
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", &sensitive::v8(2).0.file(IN_ORDER));
    let (one, other) = (lake.folder().join("one.key"), lake.folder().join("other.key"));
    let hashed = |key: Option<&Path>| {
        let mut command = lake.analyze(&input);
        command.args(["--texts", "hash"]);
        if let Some(key) = key {
            command.arg("--texts-key").arg(key);
        }
        command
    };
    hashed(Some(&one)).assert().success();
    let run = lake.run();
    let before = fs::read(run.join(nodes::TABLE.file)).unwrap();
    assert_eq!(answer(hashed(Some(&one)).arg("--json"))[0]["status"], "unchanged");
    for (command, difference) in [
        (&mut lake.analyze(&input), "--texts (hash)"),
        (&mut hashed(Some(&other)), "the key of --texts-key"),
        (&mut hashed(None), "the key of --texts-key"),
        (hashed(Some(&one)).args(["--texts-keep", "a*"]), "--texts-keep ()"),
    ] {
        let (cause, _) = diagnostic(command, 1);
        assert!(cause.ends_with(difference), "{cause}");
    }
    // The key is nowhere in the lake.
    let words = fs::read_to_string(&one).unwrap();
    for file in heaplake_support::canaries::files(&lake.path()) {
        let content = fs::read(&file).unwrap();
        assert!(!content.windows(16).any(|window| window == &words.as_bytes()[..16]), "{}", file.display());
    }
    let mut again = heaplake();
    again.args(["duplicates", "--quiet"]).arg(&run);
    let (cause, advice) = diagnostic(&mut again, 1);
    assert!(cause.ends_with("its texts are hashed with a key") && advice.contains("--texts-key"), "{cause}");
    let (cause, _) = diagnostic(again.arg("--texts-key").arg(&other), 1);
    assert!(cause.ends_with("its texts are hashed with another key"), "{cause}");
    let mut again = heaplake();
    again.args(["duplicates", "--quiet", "--texts-key"]).arg(&one).arg(&run).assert().success();
    assert_eq!(run_json(&run)["options"]["texts"]["mode"], "hash");
    assert_eq!(before.len(), fs::read(run.join(nodes::TABLE.file)).unwrap().len());
}

#[test]
fn names_stay_on_request() {
    let lake = Lake::new();
    let mut snapshot = Snapshot::default();
    let root = snapshot.node("synthetic", "");
    let chunk = snapshot.node("object", "chunk_8f3a9b2c1d4e5f60");
    snapshot.edge(root, "property", "user_482137", chunk);
    let text = snapshot.node("string", "user_482137");
    snapshot.edge(chunk, "property", "owner", text);
    let input = lake.input("a.heapsnapshot", &snapshot.file(IN_ORDER));
    let cells = |options: &[&str]| {
        lake.analyze(&input).args(["--texts", "hash", "--edges", "--force"]).args(options).assert().success();
        let run = lake.run();
        let texts = ["nodes.parquet", "edges.parquet"].map(|file| heaplake_support::canaries::cells(&run.join(file)));
        texts.concat()
    };
    let masked = cells(&[]);
    assert!(!masked.contains("chunk_8f") && !masked.contains("482137") && masked.contains("owner"), "{masked}");
    let kept = cells(&["--texts-keep", "chunk_*", "--texts-keep", "user_*"]);
    assert!(kept.contains("chunk_8f3a9b2c1d4e5f60"), "{kept}");
    // The property keeps its name; the text of the string does not stay.
    assert_eq!(kept.matches("user_482137").count(), 1, "{kept}");
}

#[test]
fn a_run_says_what_texts_it_has() {
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", &sensitive::v8(2).0.file(IN_ORDER));
    for (texts, word) in [("full", None), ("hash", Some("texts hashed")), ("none", Some("texts absent"))] {
        lake.analyze(&input).args(["--texts", texts, "--force", "--report"]).assert().success();
        let run = lake.run();
        let listed = String::from_utf8(printed(heaplake().arg("ls").arg(lake.path()))).unwrap();
        let shown = String::from_utf8(printed(heaplake().arg("show").arg(&run))).unwrap();
        let page = fs::read_to_string(run.join("report.html")).unwrap();
        let note = format!("(--texts {texts})");
        assert_eq!((shown.contains(&note), page.contains(&note)), (word.is_some(), word.is_some()), "{shown}");
        assert!(word.map_or(!listed.contains("texts"), |word| listed.contains(word)), "{listed}");
        let json = answer(heaplake().arg("ls").arg(lake.path()).arg("--json"));
        assert_eq!(json["runs"][0]["texts"], texts, "{json}");
    }
}
