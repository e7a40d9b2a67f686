//! `--tables`: only the chosen tables are written, and their bytes do not depend on the choice.

use heaplake_schemas::options::TableName;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake, read_json, said};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A snapshot of each format.
fn inputs() -> [PathBuf; 2] {
    [fixtures::v8("small"), fixtures::path("jvm/weakfix.hprof.zst")]
}

fn analyze(input: &Path, options: &[&str]) -> (Lake, PathBuf) {
    let (lake, run) = Lake::of(input, options);
    (lake, run)
}

fn json(run: &Path) -> serde_json::Value {
    read_json(run.join("run.json"))
}

fn tables(run: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(run).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.filter_map(|file| file.strip_suffix(".parquet").map(str::to_owned)).collect()
}

#[test]
fn chosen_tables_are_those_of_a_run_with_all() {
    for input in inputs() {
        let (_lake, whole) = analyze(&input, &["--edges", "--values"]);
        for list in [
            "nodes",
            "classes",
            "threads",
            "snapshot",
            "edges",
            "snapshot,classes,threads",
            "edges,nodes",
            "findings",
            "owners",
            "kinds",
            "scripts",
            "values",
            "retainer_trees",
        ] {
            check_choice(&input, list, &whole);
        }
    }
}

/// The tables of a list have the same bytes as in a run with all tables, and the same summary.
fn check_choice(input: &Path, list: &str, whole: &Path) {
    let there = tables(whole);
    let (_lake, run) = analyze(input, &["--tables", list]);
    let mut wanted: BTreeSet<String> = list.split(',').map(str::to_owned).filter(|name| there.contains(name)).collect();
    add_companion(&mut wanted);
    assert_eq!(tables(&run), wanted, "{list}");
    for table in wanted.iter().filter(|name| *name != "snapshot").map(|name| format!("{name}.parquet")) {
        assert_eq!(fs::read(run.join(&table)).unwrap(), fs::read(whole.join(&table)).unwrap(), "{list}");
    }
    let [ours, all] = [run.as_path(), whole].map(|run| {
        let mut summary = json(run)["summary"].take();
        // Retainers need retainer trees, or findings, which build them.
        for class in summary["classes"].as_array_mut().unwrap() {
            class.as_object_mut().unwrap().remove("holders");
        }
        summary
    });
    for fact in ["classes", "class_count", "node_count", "edge_count", "shallow_bytes", "unreachable_bytes"] {
        assert_eq!(ours[fact], all[fact], "{list}");
    }
    let retained = |summary: &serde_json::Value| -> Vec<serde_json::Value> {
        summary["objects"].as_array().unwrap().iter().map(|object| object["retained_bytes"].clone()).collect()
    };
    assert_eq!(retained(&ours), retained(&all), "{list}");
}

/// Findings come with a table that cannot be chosen.
fn add_companion(tables: &mut BTreeSet<String>) {
    if tables.contains("findings") {
        tables.insert("possible_duplicates".to_owned());
    }
}

#[test]
fn the_default_is_all() {
    let [v8, jvm] = inputs();
    let tracked = fixtures::v8("alloc20");
    let of_tracked = ["allocation_types", "allocation_functions", "allocation_callees", "live_allocations", "samples"];
    // A format lacks a table, and so does a snapshot without tracking. Values are optional.
    for (input, lacks, tracks) in [(v8, "threads", false), (jvm, "scripts", false), (tracked, "threads", true)] {
        let absent = [lacks, "values"];
        let names = TableName::ALL.into_iter().map(TableName::name);
        let names = names.filter(|name| !absent.contains(name) && (tracks || !of_tracked.contains(name)));
        let mut all: BTreeSet<String> = names.map(str::to_owned).collect();
        add_companion(&mut all);
        assert_eq!(tables(&analyze(&input, &[]).1), all);
        let without = all.into_iter().filter(|name| name != "edges").collect();
        assert_eq!(tables(&analyze(&input, &["--no-edges"]).1), without);
    }
}

#[test]
fn a_run_without_nodes_is_shown() {
    for input in inputs() {
        let (_lake, run) = analyze(&input, &["--tables", "snapshot,classes,threads"]);
        let text = said(heaplake().arg("show").arg(&run));
        assert!(text.contains("classes.parquet") && !text.contains("nodes.parquet"), "{text}");
        assert!(text.contains("Largest objects"), "{text}");
    }
}

#[test]
fn another_choice_is_another_run() {
    let [input, _] = inputs();
    let (lake, run) = analyze(&input, &["--tables", "classes,snapshot"]);
    assert_eq!(json(&run)["options"]["tables"], serde_json::json!(["classes", "snapshot"]));
    // The order of a list and repeated names do not matter.
    lake.analyze(&input).args(["--tables", "snapshot,classes,snapshot"]).assert().success();
    let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
    assert!(cause.contains("differs in --tables (classes,snapshot)"), "{cause}");
    assert!(advice.contains("--force"), "{advice}");
    lake.analyze(&input).arg("--force").assert().success();
    assert!(tables(&lake.run()).contains("nodes"));
}

#[test]
fn unknown_tables_are_refused() {
    let [input, _] = inputs();
    let lake = Lake::new();
    for list in ["node", "classes,rows", "", "classes,"] {
        let output = lake.analyze(&input).args(["--tables", list]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{list}");
        let text = String::from_utf8(output.stderr).unwrap();
        for name in ["nodes", "edges", "classes", "threads", "snapshot"] {
            assert!(text.contains(name), "{text}");
        }
    }
    lake.assert_empty();
}

#[test]
fn plans_are_for_the_chosen_tables() {
    for input in inputs() {
        let stages = |options: &[&str]| -> Vec<String> {
            let plan = answer(heaplake().arg("plan").arg(&input).arg("--json").args(options));
            let stages = plan["stages"].as_array().unwrap().iter();
            stages.map(|stage| stage["stage"].as_str().unwrap().to_owned()).collect()
        };
        assert!(stages(&[]).contains(&"nodes".to_owned()));
        let few = stages(&["--tables", "classes"]);
        assert!(!few.contains(&"nodes".to_owned()) && !few.contains(&"edges".to_owned()), "{few:?}");
        assert!(few.contains(&"classes table".to_owned()) && few.contains(&"totals".to_owned()), "{few:?}");
    }
}
