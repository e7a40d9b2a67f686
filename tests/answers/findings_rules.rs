//! Findings about resources that are never released (realms, timers, listeners, promises, caches of functions,
//! WebAssembly memories), on a program that leaks each, and on the same program with all of them released.

use crate::findings::{analyzed, of_rule, program, says, took};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Rules of this file.
const RULES: [&str; 6] = ["realms", "timers", "listeners", "pending-promises", "closure-cache", "wasm-memory"];
/// Minimum retained bytes of a `Report`: 60 rows of two fields each.
const REPORT: u64 = 60 * 24;

/// Findings of the program in one mode; `None` if node is missing.
fn found(lake: &Lake, sin: &str) -> Option<(PathBuf, Vec<Value>)> {
    found_with(&[], lake, sin)
}

/// The same with options of V8.
fn found_with(options: &[&str], lake: &Lake, sin: &str) -> Option<(PathBuf, Vec<Value>)> {
    let snapshot = lake.folder().join(format!("{sin}.heapsnapshot"));
    let program = program("resources.js");
    let arguments = [program.to_str().unwrap(), sin, snapshot.to_str().unwrap()];
    took("node", &[options, &arguments].concat()).then(|| analyzed(lake, &snapshot))
}

/// The only finding of these rules, which is first or second of all and has this count and these words.
fn culprit<'a>(findings: &'a [Value], rule: &str, count: u64, words: &[&str]) -> &'a Value {
    let ours: Vec<usize> =
        (0..findings.len()).filter(|&at| RULES.iter().any(|rule| findings[at]["rule"] == *rule)).collect();
    let [at] = ours[..] else { panic!("{rule}: {findings:#?}") };
    let finding = &findings[at];
    assert!(at < 2 && finding["rule"] == rule && finding["severity"] == "high", "{findings:#?}");
    assert_eq!(finding["count"], count, "{finding}");
    says(finding, words);
    finding
}

fn retained_sizes(run: &Path, class: &str) -> Vec<u64> {
    let nodes = Table::read(run, "nodes.parquet");
    let (classes, retained) = (nodes.texts("class"), nodes.u64s("retained_bytes"));
    let of_class = classes.iter().zip(&retained).filter(|(name, _)| name.as_deref() == Some(class));
    of_class.map(|(_, bytes)| bytes.unwrap()).collect()
}

fn retained(run: &Path, class: &str) -> u64 {
    retained_sizes(run, class).into_iter().sum()
}

#[test]
fn realms_that_callbacks_hold_are_found() {
    let lake = Lake::new();
    let Some((run, findings)) = found(&lake, "realms") else { return };
    let words = ["11 V8 contexts", "11 of them are held by one Array", "callbacks"];
    let finding = culprit(&findings, "realms", 11, &words);
    // Each has 9,000 rows of two fields, and all global objects.
    assert!(finding["bytes"].as_u64().unwrap() >= 11 * (9_000 * 24 + 100_000), "{finding}");
    let nodes = Table::read(&run, "nodes.parquet");
    let holder = finding["node"].as_u64().unwrap() as usize;
    assert_eq!(nodes.texts("class")[holder].as_deref(), Some("Array"));
    assert!(nodes.u64s("retained_bytes")[holder] >= finding["bytes"].as_u64());
}

/// While its functions are compiled, the compiler's handles retain a realm too.
#[test]
fn realms_whose_functions_are_compiled_are_found() {
    let lake = Lake::new();
    let options = ["--concurrent-recompilation-delay=2000"];
    let Some((_, findings)) = found_with(&options, &lake, "realms") else { return };
    let found = of_rule(&findings, "realms");
    let [finding] = found[..] else { panic!("{findings:#?}") };
    assert_eq!(finding["count"], 11, "{finding}");
    says(finding, &["11 V8 contexts", "11 of them are held by one Array", "callbacks"]);
}

/// The head dominates all elements, and none of them refers to many: what grows is the list.
#[test]
fn a_circular_list_is_of_high_severity() {
    let lake = Lake::new();
    let Some((run, findings)) = found(&lake, "ring") else { return };
    let first = &findings[0];
    assert!(first["rule"] == "leak-suspect" && first["severity"] == "high", "{findings:#?}");
    assert_eq!(first["count"], 3_000, "{first}");
    says(first, &["One Handle @", "3,000 Handle objects", "handles"]);
    assert!(first["bytes"].as_u64().unwrap() > retained(&run, "Report"), "{first}");
}

#[test]
fn timers_that_are_never_cleared_are_found() {
    let lake = Lake::new();
    let Some((run, findings)) = found(&lake, "timers") else { return };
    let words = ["3,000 intervals", "a function at programs/resources.js:27", "TimersList"];
    let finding = culprit(&findings, "timers", 3_000, &words);
    assert_eq!(finding["subject"], "a function at programs/resources.js:27");
    let reports = retained(&run, "Report");
    assert!(reports >= 3_000 * REPORT && finding["bytes"].as_u64().unwrap() > reports, "{finding}");
    assert!(finding["next_step"].as_str().unwrap().contains("clearInterval"));
}

#[test]
fn listeners_that_are_never_removed_are_found() {
    for (sin, words) in [
        ("listeners", ["3,000 listeners of \"order\" on one Bus", "each is onOrder (programs/resources.js:35)"]),
        ("targets", ["3,000 listeners of \"abort\" on one EventTarget", "each is onAbort (programs/resources.js:43)"]),
    ] {
        let lake = Lake::new();
        let Some((run, findings)) = found(&lake, sin) else { return };
        let finding = culprit(&findings, "listeners", 3_000, &words);
        let reports = retained(&run, "Report");
        assert!(reports >= 3_000 * REPORT && finding["bytes"].as_u64().unwrap() > reports, "{finding}");
    }
}

#[test]
fn promises_that_nothing_settles_are_found() {
    for (sin, word) in [
        // Not `callWaiter`, which waits for it in turn.
        ("promises", "3,000 calls of waitForTurn (programs/resources.js:51)"),
        ("thens", "3,000 calls of whenOpen (programs/resources.js:59)"),
    ] {
        let lake = Lake::new();
        let Some((run, findings)) = found(&lake, sin) else { return };
        let finding = culprit(&findings, "pending-promises", 3_000, &[word, "Promise"]);
        let reports = retained(&run, "Report");
        assert!(reports >= 3_000 * REPORT && finding["bytes"].as_u64().unwrap() > reports, "{finding}");
    }
}

#[test]
fn caches_of_memoised_functions_are_found() {
    let lake = Lake::new();
    let Some((run, findings)) = found(&lake, "memo") else { return };
    let words = ["variable cache of memoize", "memoized (programs/resources.js:64)", "Map with 3,000 entries"];
    let finding = culprit(&findings, "closure-cache", 3_000, &words);
    assert!(finding["bytes"].as_u64().unwrap() > retained(&run, "Report"), "{finding}");
}

#[test]
fn memories_of_webassembly_are_found() {
    let lake = Lake::new();
    let Some((_, findings)) = found(&lake, "wasm") else { return };
    let finding =
        culprit(&findings, "wasm-memory", 6, &["6 memories of WebAssembly", "the largest has 2.0 MiB", "Array"]);
    assert_eq!(finding["bytes"], 6 * (2 << 20));
    // They are not reported as native memory again.
    assert!(of_rule(&findings, "native-memory").is_empty(), "{findings:#?}");
}

#[test]
fn what_is_ended_is_no_finding() {
    let lake = Lake::new();
    let Some((_, findings)) = found(&lake, "healthy") else { return };
    assert!(RULES.iter().all(|rule| of_rule(&findings, rule).is_empty()), "{findings:#?}");
}

/// The bytes of a rule's finding with these words and this count.
fn one_of(findings: &[Value], rule: &str, count: u64, words: &[&str]) -> u64 {
    let said = |finding: &&Value| words.iter().all(|word| finding["message"].as_str().unwrap().contains(word));
    let found: Vec<&Value> = of_rule(findings, rule).into_iter().filter(said).collect();
    let [finding] = found[..] else { panic!("{rule} {words:?}: {findings:#?}") };
    assert_eq!(finding["count"], count, "{finding}");
    finding["bytes"].as_u64().unwrap()
}

/// All kinds in snapshots of `resources.js` from Node 20 and 26.
#[test]
fn all_kinds_are_found_in_files_of_node_20_and_26() {
    // A report has an array of 1,500 slots.
    let reports = |bytes: u64| assert!((150 * 12_016..150 * 12_700).contains(&bytes), "{bytes}");
    for version in [20, 26] {
        let lake = Lake::new();
        let file = format!("v8/resources{version}.heapsnapshot.zst");
        let (run, findings) = analyzed(&lake, &fixtures::path(&file));
        assert_eq!(findings[0]["rule"], "closure-cache");
        let cache = ["variable cache of memoize", "memoized (programs/resources.js:64)"];
        assert!(one_of(&findings, "closure-cache", 1_000, &cache) > 1_000 * 12_016);
        let realms = one_of(&findings, "realms", 11, &["11 of them are held by one Array @", "callbacks"]);
        assert!(realms >= 11 * 60_000 * 8, "{realms}");
        let timers = one_of(&findings, "timers", 150, &["150 intervals", "resources.js:27", "TimersList"]);
        let active: u64 = retained_sizes(&run, "Timeout").into_iter().filter(|&bytes| bytes > 12_000).sum();
        assert_eq!(timers, active);
        let waiting = ["waitForTurn (programs/resources.js:51)"];
        let promises = one_of(&findings, "pending-promises", 150, &waiting);
        assert_eq!(
            promises,
            retained_sizes(&run, "Generator").into_iter().filter(|&bytes| bytes > 12_000).sum::<u64>()
        );
        reports(one_of(&findings, "pending-promises", 150, &["whenOpen (programs/resources.js:59)"]));
        let order = ["of \"order\" on one Bus @", "each is onOrder (programs/resources.js:35)"];
        reports(one_of(&findings, "listeners", 150, &order));
        let abort = ["of \"abort\" on one EventTarget @", "each is onAbort (programs/resources.js:43)"];
        reports(one_of(&findings, "listeners", 150, &abort));
        // In files of Node 26 the data of a memory is missing until the program asks for its buffer.
        let memories = of_rule(&findings, "wasm-memory").len();
        assert_eq!(memories, usize::from(version == 20));
    }
}

#[test]
fn what_is_ended_is_no_finding_in_a_file_of_node_20() {
    let lake = Lake::new();
    let (_, findings) = analyzed(&lake, &fixtures::v8("resources_healthy20"));
    assert!(RULES.iter().all(|rule| of_rule(&findings, rule).is_empty()), "{findings:#?}");
}

#[test]
fn services_of_node_have_no_detached_elements() {
    for name in ["v8/node24_app.heapsnapshot.zst", "v8/small.heapsnapshot.zst"] {
        let lake = Lake::new();
        let (_, findings) = analyzed(&lake, &fixtures::path(name));
        assert!(of_rule(&findings, "detached-dom").is_empty(), "{findings:#?}");
        assert!(RULES.iter().all(|rule| of_rule(&findings, rule).is_empty()), "{findings:#?}");
    }
}
