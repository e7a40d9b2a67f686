//! Findings on small real programs that misbehave on purpose, and on healthy ones.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json, said};
use heaplake_support::table::Table;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(name)
}

/// Runs a program that writes a snapshot; false if the machine lacks node or java.
pub(crate) fn took(tool: &str, arguments: &[impl AsRef<OsStr>]) -> bool {
    match Command::new(tool).args(arguments).output() {
        Err(error) => {
            eprintln!("SKIPPED: {tool} cannot be run here: {error}");
            false
        }
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
    }
}

/// Runs a program that writes a snapshot to its last argument; returns a lake with its run, and the findings.
fn found_in(name: &str, words: &[&str]) -> Option<(Lake, PathBuf, Vec<Value>)> {
    let (tool, file) = match name.ends_with(".java") {
        true => (&["java", "-Xmx256m"][..], "it.hprof"),
        false => (&["node"][..], "it.heapsnapshot"),
    };
    let lake = Lake::new();
    let (program, snapshot) = (program(name), lake.folder().join(file));
    let arguments = [&tool[1..], &[program.to_str().unwrap()], words, &[snapshot.to_str().unwrap()]].concat();
    if !took(tool[0], &arguments) {
        return None;
    }
    let (run, findings) = analyzed(&lake, &snapshot);
    Some((lake, run, findings))
}

/// Analyses a snapshot; returns its run and its findings.
pub(crate) fn analyzed(lake: &Lake, snapshot: &Path) -> (PathBuf, Vec<Value>) {
    let json = lake.folder().join("findings.json");
    lake.analyze(snapshot).arg("--findings-json").arg(&json).assert().success();
    let all: Value = read_json(&json);
    let findings = all[0]["findings"].as_array().unwrap().clone();
    let run = lake.run();
    let table = Table::read(&run, "findings.parquet");
    assert_eq!(table.rows(), findings.len());
    for (row, finding) in findings.iter().enumerate() {
        assert_eq!(table.texts("message")[row].as_deref(), finding["message"].as_str());
        assert_eq!(table.u64s("bytes")[row], finding["bytes"].as_u64());
    }
    (run, findings)
}

pub(crate) fn of_rule<'a>(findings: &'a [Value], rule: &str) -> Vec<&'a Value> {
    findings.iter().filter(|finding| finding["rule"] == rule).collect()
}

pub(crate) fn says(finding: &Value, words: &[&str]) {
    let message = finding["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{word}: {message}");
    }
}

/// Retained sizes of all objects of a class in the table of nodes.
fn retained_by_class(run: &Path, name: &str) -> u64 {
    let nodes = Table::read(run, "nodes.parquet");
    let (classes, retained) = (nodes.texts("class"), nodes.u64s("retained_bytes"));
    let of_class = classes.iter().zip(&retained).filter(|(class, _)| class.as_deref() == Some(name));
    of_class.map(|(_, bytes)| bytes.unwrap()).sum()
}

#[test]
fn leaks_of_a_service_are_found() {
    let Some((_lake, run, findings)) = found_in("leaks.js", &["leaking"]) else { return };
    let [cache, listeners, buffer] = &findings[..3] else { panic!("three") };
    assert!([cache, listeners, buffer].iter().all(|finding| finding["severity"] == "high"), "{findings:?}");
    assert_eq!([&cache["rule"], &listeners["rule"], &buffer["rule"]], ["leak-suspect", "listeners", "leak-suspect"]);

    // The cache: its location, the path to it, its code, and its bytes in the table of nodes.
    says(
        cache,
        &["SessionCache.sessions (Map @", "holds 40,000 Session objects", "It belongs to the application (leaks.js:"],
    );
    let path = ["global.service", "Object.cache", "SessionCache.sessions", "Map"];
    assert_eq!((&cache["path"], &cache["stable_path"]), (&Value::from(&path[..]), &Value::from(&path[..])));
    assert_eq!((&cache["subject"], &cache["count"]), (&Value::from("SessionCache.sessions"), &Value::from(40_000)));
    assert_eq!(cache["bytes"].as_u64(), Some(retained_by_class(&run, "Session")));
    assert_eq!(cache["owner"], "(application)");
    assert!(cache["place"].as_str().unwrap().starts_with("leaks.js:"), "{cache}");
    let nodes = Table::read(&run, "nodes.parquet");
    let class =
        |finding: &Value, key: &str| nodes.texts("class")[finding[key].as_u64().unwrap() as usize].clone().unwrap();
    assert_eq!((class(cache, "node"), class(cache, "holder_node")), ("Map".to_owned(), "SessionCache".to_owned()));

    assert!(listeners["count"].as_u64() >= Some(5_000), "{listeners}");
    says(
        listeners,
        &["5,000 listeners of \"tick\" on one Ticker", "Ticker._events → Object.tick → Array", "leaks.js:"],
    );
    assert_eq!(listeners["subject"], "Ticker \"tick\"");
    says(buffer, &["Buffer", "12.0 MiB", "a closure keeps", ".upload → Buffer"]);

    // Findings about the same bytes become evidence.
    says(listeners, &["leak-suspect (5,001 × Ticker._events.tick, ", "many-instances (5,000 × Subscription, "]);
    says(buffer, &["big-context", "native-memory"]);
    for rule in ["many-instances", "big-context", "native-memory"] {
        assert!(of_rule(&findings, rule).is_empty(), "{rule}: {findings:?}");
    }
    assert!(findings.iter().filter(|finding| finding["severity"] != "low").count() == 3, "{findings:?}");

    // The summary ends with the findings.
    let shown = said(heaplake().arg("show").arg(&run));
    assert!(shown.contains("40,000 Session objects") && shown.contains("HIGH"), "{shown}");
}

/// Writes a minimal snapshot of a list, which may be larger than memory.
fn write_list(path: &Path, length: u32) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let meta = r#"{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint","object shape"],"string","number","number","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"]}"#;
    let (nodes, edges) = (length + 2, length + 1);
    write!(
        out,
        r#"{{"snapshot":{{"meta":{meta},"node_count":{nodes},"edge_count":{edges},"trace_function_count":0}},"nodes":[9,0,1,0,1,0,0,3,1,3,32,1,0,0"#
    )
    .unwrap();
    for element in 0..length {
        write!(out, ",3,2,{},32,{},0,0", 5 + 2 * u64::from(element), u32::from(element + 1 < length)).unwrap();
    }
    write!(out, r#"],"edges":[5,1,7,2,4,14"#).unwrap();
    (1..length).for_each(|element| write!(out, ",2,3,{}", 7 * (u64::from(element) + 2)).unwrap());
    write!(
        out,
        r#"],"trace_function_infos":[],"trace_tree":[],"samples":[],"locations":[],"strings":["","Holder","Element","next","first"]}}"#
    )
    .unwrap();
    out.flush().unwrap();
}

fn check_list(length: u32) {
    let lake = Lake::new();
    let snapshot = lake.folder().join("list.heapsnapshot");
    write_list(&snapshot, length);
    let (run, findings) = analyzed(&lake, &snapshot);
    let suspects = of_rule(&findings, "leak-suspect");
    let [suspect] = suspects[..] else { panic!("{findings:?}") };
    says(suspect, &["One Element @5", "list", "Holder.first → Element"]);
    assert_eq!(suspect["path"], Value::from(&["Holder.first", "Element"][..]));
    let bytes = u64::from(length) * 32;
    assert_eq!(suspect["bytes"], bytes);
    // The recursion is folded in the chains of both kinds.
    let chains = Table::read(&run, "chains.parquet");
    let (classes, texts) = (chains.texts("class"), chains.texts("text"));
    let (counts, retained) = (chains.u64s("count"), chains.u64s("retained_bytes"));
    let mut found: Vec<(&str, Option<u64>, Option<u64>)> = (0..chains.rows())
        .filter(|&row| classes[row].as_deref() == Some("Element"))
        .map(|row| (texts[row].as_deref().unwrap(), counts[row], retained[row]))
        .collect();
    found.sort_unstable();
    let all = Some(u64::from(length));
    let expected = [
        ("Holder → Element*", all, Some(bytes)),
        ("Holder.first → Element", Some(1), Some(bytes)),
        ("Holder.first → Element.next* → Element", all.map(|all| all - 1), Some(0)),
    ];
    assert_eq!(found, expected);
    heaplake().arg("report").arg(&run).assert().success();
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.len() < 2_000_000);
    let (_, rest) = page.split_once("type=\"application/json\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    // The root, the retainer, and all elements.
    assert_eq!(data["groups"]["of"], 3);
    assert_eq!(data["groups"]["rows"][2][2], length);
}

#[test]
fn a_list_is_one_finding_about_its_holder_and_one_group() {
    check_list(300_000);
}

#[test]
#[ignore = "long"]
fn a_list_of_ten_million_is_one_finding_and_one_chain() {
    check_list(10_000_000);
}

#[test]
fn a_healthy_service_has_no_high_finding() {
    let Some((_lake, _, findings)) = found_in("leaks.js", &["healthy"]) else { return };
    assert!(findings.iter().all(|finding| finding["severity"] != "high"), "{findings:?}");
}

#[test]
fn structures_that_a_program_works_on_are_no_high_finding() {
    let Some((_lake, _, findings)) = found_in("compiler.js", &[]) else { return };
    let suspects = of_rule(&findings, "leak-suspect");
    let [tree] = suspects[..] else { panic!("{findings:?}") };
    says(tree, &["Program", "retains", "among it", "global.program → Program"]);
    let severe: Vec<&Value> = findings.iter().filter(|finding| finding["severity"] != "low").collect();
    assert_eq!(severe, [tree], "{findings:?}");
    assert_eq!(tree["severity"], "medium");
}

#[test]
fn sins_of_java_are_found() {
    let Some((_lake, _, findings)) = found_in("Sins.java", &[]) else { return };
    let boxes = of_rule(&findings, "boxed-numbers");
    assert!(
        boxes
            .iter()
            .any(|finding| finding["subject"] == "java.lang.Long" && finding["count"].as_u64() >= Some(150_000)),
        "{findings:?}"
    );
    // With references of four bytes: 2,000 tables of 1,024 slots; an entry needs two.
    of_collections(&findings, "collection-slack", "java.util.HashMap", "Sins", 2_000, 2_000 * (4_112 - 24));
    let orders = [
        ("one-entry-collections", "java.util.HashMap", 48 + 80),
        ("empty-collections", "java.util.ArrayDeque", 24 + 88),
        ("empty-collections", "java.util.ArrayList", 24 + 56),
    ];
    for (rule, class, bytes) in orders {
        of_collections(&findings, rule, class, "Sins$Order", 20_000, 20_000 * bytes);
    }
    let sparse = of_rule(&findings, "sparse-array");
    let board = sparse.iter().find(|finding| finding["subject"] == "java.lang.Object[]").unwrap();
    assert!((4_000_000..4_300_000).contains(&board["bytes"].as_u64().unwrap()), "{board}");
    // Objects that a class keeps in one piece may be intended.
    let huge =
        of_rule(&findings, "large-constant").into_iter().find(|finding| finding["subject"] == "Sins.huge").unwrap();
    says(huge, &["Sins.huge → byte[]", "Also seen as huge-array (byte[], 16.0 MiB)"]);
    assert_eq!(huge["severity"], "low");
    let loaders = of_rule(&findings, "class-loader-leak");
    let [loaders] = loaders[..] else { panic!("{findings:?}") };
    // All are in one list, so they may all be in use.
    assert_eq!((&loaders["subject"], &loaders["severity"]), (&Value::from("Sins$Loader"), &Value::from("low")));
    says(loaders, &["6 class loaders", "define the same class, Sins$Plugin"]);
    let locals = of_rule(&findings, "thread-locals");
    assert!(locals.iter().any(|finding| finding["bytes"].as_u64() >= Some(12 << 20)), "{findings:?}");
    // The buffers are all alike, so their retainer is more informative.
    says(locals[0], &["Also seen as ", "duplicate-arrays (", "Sins.BUFFER → "]);
    let finalizers = of_rule(&findings, "finalizer-queue");
    assert!(finalizers.iter().any(|finding| finding["count"].as_u64() >= Some(12_000)), "{findings:?}");
}

/// Checks the exact numbers of a finding about containers of a class with this retainer.
fn of_collections(findings: &[Value], rule: &str, class: &str, holder: &str, count: u64, bytes: u64) {
    let found = of_rule(findings, rule).into_iter().find(|finding| {
        finding["subject"] == class && finding["message"].as_str().unwrap().contains(&format!("{holder},"))
    });
    let found = found.unwrap_or_else(|| panic!("{rule} of {class}: {findings:?}"));
    assert_eq!((found["count"].as_u64(), found["bytes"].as_u64()), (Some(count), Some(bytes)), "{found}");
}

#[test]
fn leaks_of_a_java_service_are_found() {
    let Some((_lake, run, findings)) = found_in("Service.java", &["leaking"]) else { return };
    let suspects = of_rule(&findings, "leak-suspect");
    let sessions = suspects.iter().find(|finding| finding["subject"] == "Service$SessionCache.SESSIONS");
    let sessions = sessions.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(sessions["severity"], "high");
    says(sessions, &["holds 40,000 Service$Session objects", "Service$SessionCache.SESSIONS → java.util.HashMap"]);
    assert_eq!(sessions["bytes"].as_u64(), Some(retained_by_class(&run, "Service$Session")));
    let listeners = suspects.iter().find(|finding| finding["subject"] == "Service$Ticker.listeners").unwrap();
    says(listeners, &["holds 5,000 Service$Subscription objects", "Service$Ticker.listeners → java.util.ArrayList"]);
    assert_eq!(listeners["bytes"].as_u64(), Some(retained_by_class(&run, "Service$Subscription")));
    let locals = of_rule(&findings, "thread-locals");
    assert!(locals.iter().any(|finding| finding["bytes"].as_u64() >= Some(12 << 20)), "{findings:?}");
    says(locals[0], &["above all ", "Service.BUFFER → ", ": 4 × byte[] (12.0 MiB)", "worker-"]);
    // They come first.
    let first: Vec<&Value> = findings.iter().take(3).map(|finding| &finding["rule"]).collect();
    assert!(first.iter().all(|rule| **rule == "leak-suspect" || **rule == "thread-locals"), "{first:?}");
}

#[test]
fn reloads_of_a_java_application_are_found() {
    let Some((_lake, _, findings)) = found_in("Reloads.java", &["leaking"]) else { return };
    let leaks = of_rule(&findings, "class-loader-leak");
    let [leak] = leaks[..] else { panic!("{findings:?}") };
    assert_eq!(leak["severity"], "high");
    assert_eq!((&leak["subject"], &leak["count"]), (&Value::from("Reloads$AppLoader"), &Value::from(11)));
    // Sixteen pages and a thousand sessions of each of the eleven old ones.
    let each = (16 * (64 << 10)) + 1000 * 24;
    assert!((11 * each..11 * (each + (200 << 10))).contains(&leak["bytes"].as_u64().unwrap()), "{leak}");
    says(
        leak,
        &["12 class loaders", "3 classes, Reloads$App among them", "Reloads$Drivers", ".REGISTERED", "Reloads$Driver"],
    );
    assert!(!leak["message"].as_str().unwrap().contains("WeakHashMap"), "{leak}");
    assert_eq!(findings[0], *leak, "{findings:?}");
}

#[test]
fn scripts_that_are_compiled_again_and_again_are_found() {
    let Some((_lake, _, findings)) = found_in("Reloads.java", &["scripts"]) else { return };
    let [leak] = of_rule(&findings, "class-loader-leak")[..] else { panic!("{findings:?}") };
    assert_eq!((&leak["subject"], &leak["count"]), (&Value::from("Reloads$ScriptLoader"), &Value::from(299)));
    assert_eq!(leak["severity"], "high");
    says(leak, &["300 class loaders", "numbered names such as Reloads$Script", "compiled at run time", "DEPLOYED"]);
}

#[test]
fn java_applications_that_are_all_in_use_are_no_leak() {
    let Some((_lake, _, findings)) = found_in("Reloads.java", &["healthy"]) else { return };
    assert!(of_rule(&findings, "class-loader-leak").is_empty(), "{findings:?}");
}

#[test]
fn garbage_of_java_is_found() {
    let lake = Lake::new();
    let dump = lake.folder().join("garbage.hprof");
    let flags = ["-Xmx512m", "-Xms512m", "-XX:+UseSerialGC"];
    let program = program("Garbage.java");
    if !took("java", &[&flags[..], &[program.to_str().unwrap(), dump.to_str().unwrap()]].concat()) {
        return;
    }
    let (_, findings) = analyzed(&lake, &dump);
    let garbage = of_rule(&findings, "unreachable");
    let [garbage] = garbage[..] else { panic!("{findings:?}") };
    // 200,000 pairs of an array of 80 bytes and the object that refers to it.
    assert!(garbage["bytes"].as_u64() >= Some(200_000 * 96) && garbage["count"].as_u64() >= Some(400_000), "{garbage}");
}

#[test]
fn a_healthy_java_service_has_no_high_finding() {
    let Some((_lake, _, findings)) = found_in("Service.java", &["healthy"]) else { return };
    assert!(findings.iter().all(|finding| finding["severity"] != "high"), "{findings:?}");
}

#[test]
fn sins_of_javascript_are_found() {
    let Some((_lake, run, findings)) = found_in("sins.js", &[]) else { return };
    check_containers(&findings);
    check_weak_maps(&findings, &run);
    check_texts_and_buffers(&findings);
}

fn check_containers(findings: &[Value]) {
    // A map, a set and an array per order; the bytes are their overhead.
    for class in ["Map", "Set", "Array"] {
        let found = of_rule(findings, "one-entry-collections");
        let found = found.into_iter().find(|finding| finding["subject"] == class).unwrap();
        says(found, &["held by Order,", "global"]);
        assert_eq!(found["count"], 20_000);
        let bytes = found["bytes"].as_u64().unwrap();
        assert!(bytes.is_multiple_of(20_000) && (80..300).contains(&(bytes / 20_000)), "{found}");
    }
    let boards = of_rule(findings, "sparse-array");
    let [board] = boards[..] else { panic!("{findings:?}") };
    says(board, &["300 Array objects, held by Board,", "300 objects"]);
    // A slot has four bytes or eight.
    let bytes = board["bytes"].as_u64().unwrap();
    assert!([4, 8].map(|slot| 300 * 1_999 * slot).contains(&bytes), "{board}");
    let registries = of_rule(findings, "collection-slack");
    let registry = registries.iter().find(|finding| finding["count"] == 5_000).unwrap();
    says(registry, &["held by Registry,", "10,000 entries"]);
}

fn check_weak_maps(findings: &[Value], run: &Path) {
    let weak = of_rule(findings, "weak-map");
    let [details] = weak[..] else { panic!("{findings:?}") };
    says(details, &["2,000 entries", "values of Details", "Array[] → Request"]);
    assert_eq!(details["bytes"].as_u64(), Some(retained_by_class(run, "Details")));
    let chains = of_rule(findings, "weak-map-chain");
    let [chain] = chains[..] else { panic!("{findings:?}") };
    says(chain, &["a chain of 3,000", "Step @"]);
}

fn check_texts_and_buffers(findings: &[Value]) {
    let texts = findings.iter().find(|finding| finding["subject"] == "global.sins.texts").unwrap();
    assert_eq!((&texts["count"], &texts["rule"]), (&Value::from(30_000), &Value::from("leak-suspect")));
    says(texts, &["holds 30,000 strings", "Also seen as duplicate-strings (3"]);
    let huge = findings.iter().find(|finding| finding["subject"] == "global.sins.huge").unwrap();
    says(huge, &["data in one piece", "Also seen as huge-string ((string), 3.0 MiB)"]);
    assert!(huge["bytes"].as_u64() >= Some(3 << 20), "{huge}");
    // The buffers are in one array, which shows their origin.
    let uploads = findings.iter().find(|finding| finding["subject"] == "global.sins.uploads").unwrap();
    says(uploads, &["holds 40 ", "Also seen as native-memory (40 × ArrayBuffer, 10.0 MiB)"]);
}

#[test]
fn detached_elements_are_found() {
    let lake = Lake::new();
    let (run, findings) = analyzed(&lake, &fixtures::v8("chromium_dom"));
    let detached =
        Table::read(&run, "nodes.parquet").u8s("detachedness").into_iter().filter(|&mark| mark == Some(2)).count();
    let found = of_rule(&findings, "detached-dom");
    assert_eq!(found.iter().map(|finding| finding["count"].as_u64().unwrap()).sum::<u64>(), detached as u64);
    assert!(detached > 0);
}
