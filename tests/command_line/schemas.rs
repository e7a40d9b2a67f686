//! The JSON that commands print fits the schemas that `heaplake schema` prints.

use super::common::{analyze, small, stdout};
use heaplake_support::fixtures;
use heaplake_support::json_schema::assert_fits;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn all() -> Value {
    serde_json::from_str(&stdout(heaplake().args(["schema", "--all"]))).unwrap()
}

/// `HEAPLAKE_UPDATE=1` writes the file anew.
#[test]
fn the_documented_schemas_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/answers.schema.json");
    let expected = stdout(heaplake().args(["schema", "--all"]));
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        let is_current = fs::read_to_string(&path).unwrap_or_default() == expected;
        assert!(is_current, "docs/answers.schema.json is stale: run the tests command_line with HEAPLAKE_UPDATE=1");
    }
}

#[test]
fn schemas_are_listed_and_printed_by_name() {
    let names: Vec<String> = stdout(heaplake().arg("schema")).lines().map(str::to_owned).collect();
    let all = all();
    assert_eq!(names.iter().collect::<BTreeSet<_>>(), all["properties"].as_object().unwrap().keys().collect());
    let one: Value = serde_json::from_str(&stdout(heaplake().args(["schema", "lake", "drop"]))).unwrap();
    let members = |document: &Value, schema: &Value| -> BTreeSet<String> {
        let definition = &document.pointer(schema["$ref"].as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
        definition["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(members(&one, &one), members(&all, &all["properties"]["lake drop"]));
    let (cause, _) = diagnostic(heaplake().args(["schema", "whi"]), 2);
    assert!(cause.contains("the nearest: why"), "{cause}");
}

/// A lake with runs of two releases, a replayed trace, and the outputs of every command with `--json` in it.
#[test]
fn every_answer_fits_its_schema() {
    let all = all();
    let mut seen = BTreeSet::new();
    let mut fits = |name: &str, value: &Value| {
        assert_fits(value, name, &all);
        seen.insert(name.to_owned());
    };
    let lake = Lake::new();
    let path = lake.path().display().to_string();
    let ask = |words: &[&str], codes: &[i32]| -> Value {
        let words: Vec<String> = words.iter().map(|word| word.replace("LAKE", &path)).collect();
        let output = heaplake().args(&words).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(codes.contains(&output.status.code().unwrap()), "{words:?}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    };

    let small = lake.input("small.heapsnapshot", &small());
    let bad = lake.input("bad.heapsnapshot", b"{");
    let found = lake.folder().join("findings.json");
    let shop = fixtures::path("v8/alloc20.heapsnapshot.zst");
    for (release, inputs) in [("1", vec![&small, &bad]), ("2", vec![&small, &shop])] {
        let mut command = analyze(&lake);
        command.args([
            "--release",
            release,
            "--json",
            "--edges",
            "--values",
            "--duplicates",
            "all",
            "--label",
            "host=a",
        ]);
        let output = command.arg("--findings-json").arg(&found).args(inputs).output().unwrap();
        fits("analyze", &serde_json::from_slice(&output.stdout).unwrap());
        fits("analyze --findings-json", &serde_json::from_slice(&fs::read(&found).unwrap()).unwrap());
    }
    let log = fixtures::path("dotnet/net8_exact.log.zst").display().to_string();
    fits("replay", &ask(&["replay", &log, "--out", "LAKE", "--release", "log", "--tracks", "--json"], &[0]));
    let trace = lake.runs().into_iter().find(|run| run.to_string_lossy().contains("release=log")).unwrap();
    let tracks = heaplake_support::table::Table::read(&trace, "object_tracks.parquet");
    let at = format!("{:x}@{}", tracks.u64s("first_address")[0].unwrap(), tracks.u32s("allocated_at_gc")[0].unwrap());
    fits("track", &ask(&["track", trace.to_str().unwrap(), &at, "--json"], &[0]));

    for run in lake.runs() {
        let run = run.to_str().unwrap();
        fits("show", &ask(&["show", run, "--json"], &[0]));
        fits("run.json", &serde_json::from_slice(&fs::read(Path::new(run).join("run.json")).unwrap()).unwrap());
        if run.contains("release=log") {
            continue;
        }
        fits("top", &ask(&["top", run, "--json"], &[0]));
        fits("dominators", &ask(&["dominators", run, "--json"], &[0]));
        let top = ask(&["top", run, "--json", "-n", "3"], &[0]);
        let node = top["objects"][2]["node"].to_string();
        fits("why", &ask(&["why", run, &node, "--json"], &[0]));
        fits("object", &ask(&["object", run, &node, "--json"], &[0]));
        fits("what-if", &ask(&["what-if", run, "--cut", &node, "--json"], &[0, 1, 2]));
        let filter = "retained > 1kB group by class order by sum(retained) desc";
        fits("query", &ask(&["query", run, filter, "--json"], &[0]));
        fits("query", &ask(&["query", run, "class ~ \"S\"", "--columns", "node,class,path,retained", "--json"], &[0]));
        fits("duplicates", &ask(&["duplicates", run, "--json"], &[0]));
    }
    let input = shop.display().to_string();
    fits("plan", &ask(&["plan", &input, "--json"], &[0]));
    for line in stdout(heaplake().args(["plan", "--each"]).arg(&small).arg(&bad)).lines() {
        fits("plan --each", &serde_json::from_str(line).unwrap());
    }
    let masked = lake.folder().join("masked.heapsnapshot").display().to_string();
    fits("redact", &ask(&["redact", &input, "-o", &masked, "--json"], &[0]));
    fits("redact --check", &ask(&["redact", "--check", &input, "--json"], &[0, 1]));
    fits("secrets", &ask(&["secrets", &input, "--json"], &[0, 4]));
    fits("tables", &ask(&["tables", "--json"], &[0]));

    fits("ls", &ask(&["ls", "LAKE", "--json", "--details", "--descriptions"], &[0]));
    fits("diff", &ask(&["diff", "LAKE/release=1", "LAKE/release=2", "--json"], &[0, 1]));
    fits("trend", &ask(&["trend", "LAKE/release=1", "LAKE/release=2", "LAKE/release=2", "--json"], &[0, 1, 2]));
    fits("fleet rollup", &ask(&["fleet", "rollup", "LAKE", "--json"], &[0]));
    fits("lake verify", &ask(&["lake", "verify", "LAKE", "--json"], &[0]));
    fits("lake index", &ask(&["lake", "index", "LAKE", "--json"], &[0]));
    fits("lake label", &ask(&["lake", "label", "LAKE", "--release", "1", "--set", "a=b", "--yes", "--json"], &[0]));
    fits("lake compact", &ask(&["lake", "compact", "LAKE", "--json"], &[0]));
    let other = lake.folder().join("other").display().to_string();
    fits("lake merge", &ask(&["lake", "merge", "LAKE", "--out", &other, "--json"], &[0]));
    fits("lake drop", &ask(&["lake", "drop", "LAKE", "--release", "1", "--yes", "--json"], &[0]));
    let names: BTreeSet<String> = all["properties"].as_object().unwrap().keys().cloned().collect();
    let unseen: Vec<&String> = names.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(unseen.iter().all(|name| *name == "events"), "no answer was checked of {unseen:?}");
}

/// Lines of standard error with `--log-format json`.
#[test]
fn every_event_fits_its_schema() {
    let all = all();
    let lake = Lake::new();
    let small = lake.input("small.heapsnapshot", &small());
    let bad = lake.input("bad.heapsnapshot", b"{");
    let others = lake.folder().join("others");
    fs::create_dir(&others).unwrap();
    fs::copy(fixtures::path("dotnet/net8_exact.log.zst"), others.join("some.log.zst")).unwrap();
    fs::copy(&small, others.join("other.heapsnapshot")).unwrap();
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let mut command = analyze(&lake);
        command.args(["--log-format", "json"]).arg(&small).arg(&bad).arg(&others);
        let output = command.output().unwrap();
        for line in String::from_utf8(output.stderr).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_fits(&line, "events", &all);
            seen.insert(line["event"].as_str().unwrap().to_owned());
        }
    }
    for event in ["stage", "committed", "unchanged", "failed", "finished"] {
        assert!(seen.contains(event), "{event} in {seen:?}");
    }
}
