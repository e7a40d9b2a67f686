//! The page of a run: one file, whatever names and tables the run has. What browsers make of it is tested in `browser`.

#![allow(clippy::unwrap_used)] // tests may fail loudly

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{Lake, Table, complaint, heaplake};

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
    for input in
        [support::fixtures().join("node24_app.heapsnapshot.zst"), support::fixtures().join("../jvm/weakfix.hprof.zst")]
    {
        let lake = Lake::new();
        lake.analyze(input).arg("--report").assert().success();
        let run = lake.run();
        let page = run.join("report.html");
        assert!(fs::metadata(&page).unwrap().len() < 2_000_000);
        let data = data(&page);
        let nodes = Table::read(&run, "nodes.parquet");
        let reachable: u64 = nodes
            .u64s("shallow_bytes")
            .iter()
            .zip(nodes.bools("reachable"))
            .filter(|(_, reachable)| *reachable == Some(true))
            .map(|(bytes, _)| bytes.unwrap())
            .sum();
        let groups = data["groups"]["rows"].as_array().unwrap();
        // The root holds all; each group is no smaller than what is below it, and with its own bytes just as large.
        assert_eq!(groups[0][4], reachable);
        let mut totals: Vec<u64> = groups.iter().map(|group| group[3].as_u64().unwrap()).collect();
        for (at, group) in groups.iter().enumerate().skip(1) {
            let parent = group[0].as_u64().unwrap() as usize;
            assert!(parent != at);
            totals[parent] += group[4].as_u64().unwrap();
        }
        assert_eq!(totals, groups.iter().map(|group| group[4].as_u64().unwrap()).collect::<Vec<_>>());
        let classes = Table::read(&run, "classes.parquet");
        assert_eq!(data["classes"]["of"], classes.rows());
        let first = &data["classes"]["rows"][0];
        assert_eq!(first["retained"], classes.u64s("retained_bytes")[0].unwrap());
        let name = &data["texts"][first["name"].as_u64().unwrap() as usize];
        assert_eq!(*name, classes.texts("class")[0].clone().unwrap());
        let owners = Table::read(&run, "owners.parquet");
        let first = &data["owners"]["rows"][0];
        assert_eq!(
            (&data["owners"]["of"], &first["retained"]),
            (&owners.rows().into(), &owners.u64s("retained_bytes")[0].into())
        );
        assert_eq!(data["texts"][first["name"].as_u64().unwrap() as usize], owners.texts("owner")[0].clone().unwrap());
        assert!(!data["stages"].as_array().unwrap().is_empty());
        assert_eq!(lake.leftovers(), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn a_page_is_made_of_what_there_is() {
    let lake = Lake::new();
    let input = support::fixtures().join("small.heapsnapshot.zst");
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
    lake.analyze(support::fixtures().join("small.heapsnapshot.zst")).assert().success();
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
