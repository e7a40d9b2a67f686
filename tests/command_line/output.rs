//! Output of commands, by stream.

use super::common::{analyze, run_json, small, stdout};
use heaplake::engine::forecast::graph;
use heaplake_ingest::v8::V8;
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::options::{AnalysisOptions, Duplicates, Options, TableName, Tables};
use heaplake_schemas::run;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use serde_json::Value;
use std::fs;

#[test]
fn json_is_one_document() {
    let lake = Lake::new();
    let good = lake.input("a.heapsnapshot", &small());
    let bad = lake.input("b.heapsnapshot", b"");
    for status in ["committed", "unchanged"] {
        let output = analyze(&lake).arg("--json").args([&good, &bad]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let [first, second] = &document.as_array().unwrap()[..] else { panic!("{document}") };
        assert_eq!((&first["status"], &second["status"]), (&status.into(), &"failed".into()));
        assert_eq!(first["path"], lake.run().display().to_string());
        assert_eq!(first["run"], run_json(&lake.run()));
        let stderr = String::from_utf8(output.stderr).unwrap();
        for (key, prefix) in [("error", "heaplake: "), ("advice", "  -> ")] {
            let line = format!("{prefix}{}", second[key].as_str().unwrap());
            assert!(stderr.lines().any(|other| other == line), "{line}\n{stderr}");
        }
    }
    let text = stdout(heaplake().arg("show").arg(lake.run()).arg("--json"));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), run_json(&lake.run()));
}

#[test]
fn quiet_says_nothing() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    for _ in 0..2 {
        assert_eq!(stdout(analyze(&lake).arg(&input).arg("--quiet")), "");
    }
    assert_eq!(stdout(analyze(&lake).arg(&input).args(["-q", "--force"])), "");
}

#[test]
fn a_log_has_one_line_per_stage() {
    let few = [TableName::Classes, TableName::Edges].into_iter().collect();
    let all = AnalysisOptions { tables: Tables::default().with(TableName::Edges), ..AnalysisOptions::default() };
    let wanted = [
        (&["--no-edges"][..], AnalysisOptions::default()),
        (&["--edges"], all.clone()),
        (&["--values"], AnalysisOptions { tables: Tables::all(), ..AnalysisOptions::default() }),
        (&["--tables=classes", "--edges"], AnalysisOptions { tables: few, ..AnalysisOptions::default() }),
        (&["--duplicates", "all"], AnalysisOptions { duplicates: Duplicates::All, ..all.clone() }),
        (&["--duplicates", "none"], AnalysisOptions { duplicates: Duplicates::None, ..all.clone() }),
        (&[], all),
    ];
    for (options, wanted) in wanted {
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/alloc20.heapsnapshot"));
        let output = analyze(&lake).arg(&input).args(options).arg("-v").output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        let mut logged: Vec<&str> = Vec::new();
        for line in log.lines() {
            let [name, stage, did] = line.splitn(3, ": ").collect::<Vec<_>>()[..] else { panic!("{line:?}") };
            assert_eq!(name, "Heap");
            assert!(did.contains(" rows in ") && did.ends_with(" s"), "{line:?}");
            logged.push(stage);
        }
        let graph = graph(&V8, &Options::Analysis(wanted));
        let mut expected: Vec<&str> = graph.steps.iter().map(|step| step.name.as_str()).collect();
        // Stages run concurrently, so their lines come in any order.
        logged.sort_unstable();
        expected.sort_unstable();
        assert_eq!(logged, expected);
    }
}

#[test]
fn show_prints_what_analyze_did() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let output = analyze(&lake).arg(&input).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("Largest classes") && printed.contains("Tables in "), "{printed}");
    assert_eq!(stdout(heaplake().arg("show").arg(lake.run())), printed);

    for other in [lake.path(), lake.folder().join("missing"), input, lake.run().join(run::FILE)] {
        let (cause, _) = diagnostic(heaplake().arg("show").arg(&other), 2);
        assert!(cause.starts_with(&format!("{}: no run", other.display())), "{cause}");
    }
    fs::write(lake.run().join(run::FILE), b"{\"snapshot\":").unwrap();
    let (cause, _) = diagnostic(heaplake().arg("show").arg(lake.run()), 1);
    assert!(cause.contains("run.json"), "{cause}");
}

#[test]
fn help_completions_and_manual() {
    let help = stdout(heaplake().arg("--help"));
    for word in ["analyze", "show", "completions", "man", "Example", "--version"] {
        assert!(help.contains(word), "{word:?} in {help}");
    }
    let help = stdout(heaplake().args(["analyze", "--help"]));
    for word in ["Examples:", "heaplake analyze", "Exit codes:", "--memory", "--force", "[default: "] {
        assert!(help.contains(word), "{word:?} in {help}");
    }
    for command in ["plan", "show", "completions", "man"] {
        assert!(stdout(heaplake().args([command, "--help"])).contains("Example"), "{command}");
    }
    assert_eq!(stdout(heaplake().arg("-V")), format!("heaplake {HEAPLAKE_VERSION}\n"));
    let version = stdout(heaplake().arg("--version"));
    assert!(version.starts_with(&format!("heaplake {HEAPLAKE_VERSION}\ncommit: ")), "{version}");
    assert!(version.contains("\nfeatures: ") && version.contains("\nplatform: "), "{version}");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(heaplake().args(["completions", shell]));
        assert!(script.contains("analyze") && script.contains("scratch"), "{shell}");
    }
    let page = stdout(heaplake().arg("man"));
    for part in [".TH heaplake", ".SH NAME", ".SH SYNOPSIS", "analyze"] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    let page = stdout(heaplake().args(["man", "analyze"]));
    assert!(page.contains(".TH heaplake-analyze") && page.contains("scratch"), "{page}");
    let (cause, _) = diagnostic(heaplake().args(["man", "nothing"]), 2);
    assert!(cause.contains("no command"), "{cause}");
}

#[test]
fn plans_of_several_inputs_are_a_line_each() {
    let lake = Lake::new();
    let night = lake.folder().join("night");
    fs::create_dir(&night).unwrap();
    for (name, bytes) in [("a.heapsnapshot", small()), ("b.heapsnapshot", Vec::new()), ("c.txt", small())] {
        fs::write(night.join(name), bytes).unwrap();
    }
    let missing = lake.folder().join("missing");
    let text = stdout(heaplake().arg("plan").arg("--each").arg(&night).arg(&missing));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    let alone: Value =
        serde_json::from_str(&stdout(heaplake().arg("plan").arg(night.join("a.heapsnapshot")).arg("--json"))).unwrap();
    for key in ["nodes", "edges", "estimated", "least_memory", "resident_memory", "scratch"] {
        assert_eq!(lines[0][key], alone[key], "{key}");
    }
    assert_eq!(lines[0]["bytes"], small().len());
    assert!(lines[1]["error"].as_str().unwrap().ends_with("not a heap snapshot: the file is empty"), "{text}");
    assert_eq!((&lines[1]["kind"], &lines[1]["exit_code"]), (&"damaged".into(), &1.into()));
    assert_eq!((&lines[2]["input"], &lines[2]["kind"]), (&missing.display().to_string().into(), &"file".into()));
    let (cause, advice) = diagnostic(heaplake().args(["plan", "a", "b"]), 2);
    assert!(cause.contains("2 are given") && advice.contains("--each"), "{cause}");
}

#[test]
fn a_plan_tells_without_running() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let text = stdout(heaplake().arg("plan").arg(&input));
    assert!(text.contains("13,632 nodes, 55,600 edges") && text.contains("dominators"), "{text}");
    assert!(text.contains("enough for everything to be resident"), "{text}");
    let json = stdout(heaplake().arg("plan").arg(&input).args(["--memory", "16MiB", "--json"]));
    let plan: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&plan["nodes"], &plan["edges"]), (&13632.into(), &55_600.into()));
    // The least budget of the plan is the least that the analysis accepts.
    let least = plan["least_memory"].as_u64().unwrap();
    lake.analyze(&input).arg(format!("--memory={}", least - 1)).assert().code(3);
    lake.analyze(&input).arg(format!("--memory={least}")).assert().success();
    let (cause, _) = diagnostic(heaplake().arg("plan").arg(lake.input("empty", b"")), 1);
    assert!(cause.ends_with("not a heap snapshot: the file is empty"), "{cause}");
}

#[test]
fn tables_are_listed_with_their_columns() {
    let tables: Value = serde_json::from_str(&stdout(heaplake().args(["tables", "--json"]))).unwrap();
    let described: Value = serde_json::from_str(include_str!("../../python/heaplake/tables.json")).unwrap();
    assert_eq!(tables["schema_version"], described["schema_version"]);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&tables["tables"]), names(&described["tables"]));
    let nodes = &tables["tables"].as_array().unwrap().iter().find(|table| table["name"] == "nodes").unwrap();
    assert!(names(&nodes["columns"]).iter().any(|name| name == "retained_bytes"));

    let listed = stdout(heaplake().arg("tables"));
    assert_eq!(listed.lines().count(), names(&tables["tables"]).len());
    let one = stdout(heaplake().args(["tables", "nodes"]));
    for name in names(&nodes["columns"]) {
        assert!(one.lines().any(|line| line.trim_start().starts_with(&name)), "{name} in {one}");
    }
    let (cause, _) = diagnostic(heaplake().args(["tables", "node"]), 2);
    assert!(cause.contains("no table \"node\"; the nearest: nodes"), "{cause}");
}
