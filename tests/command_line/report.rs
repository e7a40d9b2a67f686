//! The page of a run, as a file. The test `browser` opens it.

use crate::fixtures;
use crate::lake::{Lake, complaint, heaplake};
use crate::table::Table;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The data of a page.
fn data(page: &Path) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let (_, rest) = html.split_once("type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_page_says_what_the_tables_say() {
    for input in ["v8/node24_app.heapsnapshot.zst", "jvm/weakfix.hprof.zst"] {
        let lake = Lake::new();
        lake.analyze(fixtures::path(input)).arg("--report").assert().success();
        let run = lake.run();
        let page = run.join("report.html");
        assert!(fs::metadata(&page).unwrap().len() < 2_000_000);
        let data = data(&page);
        check_groups(&data, &run);
        check_classes(&data, &run);
        check_owners(&data, &run);
        assert!(!data["stages"].as_array().unwrap().is_empty());
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    }
}

/// The root holds all; each group has the bytes of its own and those of the groups below it, and no others.
fn check_groups(data: &Value, run: &Path) {
    let nodes = Table::read(run, "nodes.parquet");
    let reachable: u64 = nodes
        .u64s("shallow_bytes")
        .iter()
        .zip(nodes.bools("reachable"))
        .filter(|(_, reachable)| *reachable == Some(true))
        .map(|(bytes, _)| bytes.unwrap())
        .sum();
    let groups = data["groups"]["rows"].as_array().unwrap();
    assert_eq!(groups[0][4], reachable);
    let mut totals: Vec<u64> = groups.iter().map(|group| group[3].as_u64().unwrap()).collect();
    for (at, group) in groups.iter().enumerate().skip(1) {
        let parent = group[0].as_u64().unwrap() as usize;
        assert!(parent != at);
        totals[parent] += group[4].as_u64().unwrap();
    }
    assert_eq!(totals, groups.iter().map(|group| group[4].as_u64().unwrap()).collect::<Vec<_>>());
}

/// The text that a row of the page names.
fn name<'a>(data: &'a Value, row: &Value) -> &'a Value {
    &data["texts"][row["name"].as_u64().unwrap() as usize]
}

fn check_classes(data: &Value, run: &Path) {
    let classes = Table::read(run, "classes.parquet");
    let first = &data["classes"]["rows"][0];
    assert_eq!(data["classes"]["of"], classes.rows());
    assert_eq!(first["retained"], classes.u64s("retained_bytes")[0].unwrap());
    assert_eq!(*name(data, first), classes.texts("class")[0].clone().unwrap());
}

fn check_owners(data: &Value, run: &Path) {
    let owners = Table::read(run, "owners.parquet");
    let first = &data["owners"]["rows"][0];
    assert_eq!(data["owners"]["of"], owners.rows());
    assert_eq!(first["retained"], owners.u64s("retained_bytes")[0].unwrap());
    assert_eq!(*name(data, first), owners.texts("owner")[0].clone().unwrap());
}

#[test]
fn a_page_is_made_of_what_there_is() {
    let lake = Lake::new();
    let input = fixtures::path("v8/small.heapsnapshot.zst");
    lake.analyze(&input).args(["--tables", "classes"]).assert().success();
    let page = lake.folder().join("it.html");
    heaplake().arg("report").arg(lake.run()).arg("-o").arg(&page).assert().success();
    let data = data(&page);
    assert_eq!((&data["groups"], &data["stages"], &data["chains"]), (&Value::Null, &Value::Null, &Value::Null));
    assert!(!data["classes"]["rows"].as_array().unwrap().is_empty());
    // The same run gives the same bytes.
    let again = lake.folder().join("again.html");
    heaplake().arg("report").arg(lake.run()).arg("-o").arg(&again).assert().success();
    assert_eq!(fs::read(page).unwrap(), fs::read(again).unwrap());
}

#[test]
fn complaints_name_the_place() {
    let lake = Lake::new();
    let (cause, _) = complaint(heaplake().arg("report").arg(lake.folder()), 2);
    assert!(cause.contains("no run"), "{cause}");
    lake.analyze(fixtures::path("v8/small.heapsnapshot.zst")).assert().success();
    let (cause, advice) = complaint(heaplake().arg("report").arg(lake.run()).args(["--memory", "30MiB"]), 3);
    assert!(cause.contains("report") && advice.contains("--memory"), "{cause} {advice}");
    fs::write(lake.run().join("classes.parquet"), b"PAR1 no PAR1").unwrap();
    let (cause, _) = complaint(heaplake().arg("report").arg(lake.run()), 1);
    assert!(cause.contains("classes.parquet: damaged table"), "{cause}");
    assert!(!lake.run().join("report.html").exists());
    assert_eq!(
        fs::read_dir(lake.run())
            .unwrap()
            .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
            .count(),
        0
    );
}
