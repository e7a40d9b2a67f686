//! Classes with possible duplicates: a row for each, and the page's command that compares them.

use super::duplicate_sets::{Set, sets};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Members and bytes of possible sets, by class.
fn possible(sets: &[Set]) -> BTreeMap<&str, (u64, u64)> {
    let mut classes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for set in sets.iter().filter(|set| set.status == "possible") {
        let class = classes.entry(&set.class).or_default();
        class.0 += set.members.len() as u64;
        class.1 += (set.members.len() as u64 - 1) * set.instance_bytes;
    }
    classes
}

#[test]
fn every_class_with_possible_duplicates_is_a_row() {
    for (input, least) in [("v8/node24_app.heapsnapshot.zst", 40), ("jvm/dupfix.hprof.zst", 40)] {
        let (_lake, run) = Lake::of(fixtures::path(input), &[]);
        let sets = sets(&run);
        let expected = possible(&sets);
        let table = Table::read(&run, "possible_duplicates.parquet");
        let (classes, keys) = (table.texts("class"), table.texts("class_key"));
        let (counts, untold, bytes) = (table.u64s("count"), table.u64s("untold"), table.u64s("bytes"));
        let mut found: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for row in 0..table.rows() {
            assert!(untold[row] <= counts[row] && keys[row].is_some());
            let class = found.entry(classes[row].as_deref().unwrap()).or_default();
            (class.0, class.1) = (class.0 + counts[row].unwrap(), class.1 + bytes[row].unwrap());
        }
        assert_eq!(found, expected);
        assert!(found.len() > least, "{}", found.len());
        assert!(bytes.is_sorted_by_key(|bytes| u64::MAX - bytes.unwrap()), "the order of the table");
        let findings = Table::read(&run, "findings.parquet");
        let rules = findings.texts("rule");
        // One for the overview; the summary has the largest classes and counts the rest.
        let about =
            |rule: &&Option<String>| rule.as_deref().is_some_and(|rule| rule.starts_with("possible-duplicates"));
        assert_eq!(rules.iter().filter(about).count(), 1);
        let json: Value = read_json(run.join("run.json"));
        let duplicates = &json["summary"]["duplicates"];
        assert!(duplicates["possible_class_count"].as_u64().unwrap() >= found.len() as u64);
        assert_eq!(duplicates["possible_classes"].as_array().unwrap().len(), 5);
        let text = heaplake().arg("show").arg(&run).output().unwrap().stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("class with possible duplicates\n")
                && text.contains(" more in possible_duplicates.parquet\n"),
            "{text}"
        );
    }
}

/// The page's sentence for a class.
fn next_step(page: &Path, class: &str) -> String {
    let html = fs::read_to_string(page).unwrap();
    let (_, rest) = html.split_once("type=\"application/json\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let text = |position: &Value| data["texts"][position.as_u64().unwrap() as usize].as_str().unwrap();
    let rows = data["possible"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| text(&row["name"]) == class);
    text(&row.unwrap_or_else(|| panic!("no {class}"))["next"]).to_owned()
}

/// Whether some set of a class was not compared, and whether one of another class was not.
fn left_alone(run: &Path, class: &str) -> (bool, bool) {
    let table = Table::read(run, "duplicate_sets.parquet");
    let (classes, reasons) = (table.texts("class"), table.texts("reason"));
    let mut left = (false, false);
    for (of, reason) in classes.iter().zip(reasons) {
        let alone = reason.is_some_and(|reason| reason.contains("not asked for"));
        if of.as_deref() == Some(class) { left.0 |= alone } else { left.1 |= alone }
    }
    left
}

#[test]
fn the_command_of_a_class_settles_it_whatever_its_name() {
    for class in ["BuiltinModule", "it's $(exit 3) `x` [a-c]* \"?\" \\ #1", "--quiet", "bell\u{7}", "Ünï çödé & <b>"]
    {
        let lake = Lake::new();
        let content = fixtures::text("v8/small.heapsnapshot");
        let quoted = serde_json::to_string(class).unwrap();
        let content = content.replace("\"BuiltinModule\"", &quoted);
        let input = lake.input("Heap.heapsnapshot", content.as_bytes());
        lake.analyze(&input).args(["--report", "--snapshot", "a run's"]).assert().success();
        let run = lake.run();
        assert_eq!(left_alone(&run, class), (true, true), "{class:?}");
        let shown = class.replace('\u{7}', "\\u{7}");
        let step = next_step(&run.join("report.html"), &shown);
        // As on the page: the path of the run is quoted for the shell.
        let place = format!("'{}'", run.display().to_string().replace('\'', "'\\''"));
        let command =
            step.strip_prefix("Run `heaplake duplicates RUN ").unwrap().strip_suffix("` to compare them.").unwrap();
        let script = format!("\"$0\" duplicates {place} {command} --quiet");
        let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_heaplake")]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        assert_eq!(left_alone(&run, class), (false, true), "{script}");
    }
}

#[test]
fn formats_without_values_say_so() {
    let lake = Lake::new();
    let input = fixtures::path("dotnet/heap8_2.nettrace.zst");
    const SENTENCE: &str = "duplicates were not looked for: this format has no values of objects to compare";
    let remarks = |run: &Path| {
        let json: Value = read_json(run.join("run.json"));
        json["summary"]["remarks"].to_string()
    };
    let why = |run: &Path| {
        let json: Value = read_json(run.join("run.json"));
        (json["summary"]["duplicates"].is_null(), json["summary"]["no_duplicates"].as_str().map(str::to_owned))
    };
    let no_values = Some("this format has no values of objects to compare".to_owned());
    lake.analyze(&input).args(["--snapshot", "it"]).assert().success();
    assert!(!remarks(&lake.run()).contains(SENTENCE), "nobody asked");
    assert_eq!(why(&lake.run()), (true, no_values.clone()));
    lake.analyze(&input).args(["--snapshot", "it", "--force", "--duplicates", "all"]).assert().success();
    assert!(remarks(&lake.run()).contains(SENTENCE));
    assert_eq!(why(&lake.run()), (true, no_values));
    let of_v8 = |mode: &str| {
        let lake = Lake::new();
        lake.analyze(fixtures::v8("pairs_node20")).args(["--duplicates", mode]).assert().success();
        why(&lake.run())
    };
    assert_eq!(of_v8("none"), (true, Some("nobody asked for them".to_owned())));
    assert_eq!(of_v8("trivial"), (false, None));
    let text = heaplake().arg("show").arg(lake.run()).output().unwrap().stdout;
    assert!(
        String::from_utf8(text)
            .unwrap()
            .replace("\n                  ", " ")
            .contains("duplicates were not looked for")
    );
}

/// The instances that merging each set would remove.
#[test]
fn additional_instances_have_the_additional_bytes() {
    for (input, least) in [("v8/node24_app.heapsnapshot.zst", 100), ("jvm/dupfix.hprof.zst", 200)] {
        let (_lake, run) = Lake::of(fixtures::path(input), &["--duplicates", "all"]);
        let nodes = Table::read(&run, "nodes.parquet");
        let (bytes, classes) = (nodes.u64s("self_bytes"), nodes.texts("class"));
        let table = Table::read(&run, "duplicate_additional.parquet");
        let mut rows: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for ((set, node), by) in table.u32s("set").into_iter().zip(table.u32s("node")).zip(table.u32s("replaced_by")) {
            let (node, by) = (node.unwrap(), by.unwrap());
            assert!(rows.entry(set.unwrap()).or_default().insert(node, by).is_none());
            assert_eq!(classes[node as usize], classes[by as usize]);
        }
        let mut deeper = 0;
        for (set, found) in (0..).zip(sets(&run)) {
            let Some(rows) = rows.get(&set) else { continue };
            assert!(rows.values().all(|by| !rows.contains_key(by)), "what replaces others stays: {found:?}");
            if found.additional_exact {
                assert_eq!(rows.keys().map(|&node| bytes[node as usize].unwrap()).sum::<u64>(), found.additional_bytes);
            }
            deeper += usize::from(rows.len() >= found.members.len());
        }
        assert!(rows.len() > least && deeper > 5, "{} {deeper}", rows.len());
        let without = Lake::new();
        without.analyze(fixtures::path(input)).assert().success();
        assert!(!without.run().join("duplicate_additional.parquet").exists(), "only where references are compared");
    }
}
