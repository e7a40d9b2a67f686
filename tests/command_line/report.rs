//! The page of a run, as a file. The test `browser` opens it.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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
        let (lake, run) = Lake::of(fixtures::path(input), &["--report"]);
        let page = run.join("report.html");
        assert!(fs::metadata(&page).unwrap().len() < 2_000_000);
        let data = data(&page);
        check_groups(&data, &run);
        check_classes(&data, &run);
        check_owners(&data, &run);
        check_holders(&data, &run);
        assert!(!data["stages"].as_array().unwrap().is_empty());
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    }
}

/// The root contains everything; each group's bytes are its own plus those of its subgroups.
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

/// Retainer trees: those of classes that findings name come first, and each branch equals the table.
fn check_holders(data: &Value, run: &Path) {
    let table = Table::read(run, "retainer_trees.parquet");
    let (classes, counts, alone) = (table.u32s("class_id"), table.u64s("count"), table.u64s("exclusive_count"));
    let (retained, examples, levels) = (table.u64s("retained_bytes"), table.u32s("example_node"), table.u32s("level"));
    let names = table.texts("holder_class");
    let trees = data["holders"]["rows"].as_array().unwrap();
    let mut order: Vec<u64> =
        data["findings"]["rows"].as_array().unwrap().iter().filter_map(|one| one["class"].as_u64()).collect();
    order.extend(classes.iter().flatten().map(|&class| u64::from(class)));
    order.retain(|class| classes.iter().flatten().any(|&one| u64::from(one) == *class));
    let mut seen = BTreeSet::new();
    order.retain(|&class| seen.insert(class));
    let shown: Vec<u64> = trees.iter().map(|tree| tree["class"].as_u64().unwrap()).collect();
    assert!(shown.len() > 2 && order.starts_with(&shown), "{shown:?} {order:?}");
    assert_eq!(data["holders"]["of"], order.len());
    for tree in trees {
        let rows: Vec<usize> =
            (0..table.rows()).filter(|&row| classes[row].map(u64::from) == tree["class"].as_u64()).collect();
        let branches = tree["branches"]["rows"].as_array().unwrap();
        assert_eq!(tree["branches"]["of"], rows.len());
        assert!(branches.len() == rows.len() || branches.len() == 60);
        let mut rows = rows.into_iter();
        for (at, branch) in branches.iter().enumerate() {
            let is_it = |row: &usize| {
                branch["count"] == counts[*row].unwrap()
                    && branch["alone"][0] == alone[*row].unwrap()
                    && branch["retained"] == retained[*row].unwrap()
                    && branch["example"] == examples[*row].unwrap()
                    && branch["level"] == levels[*row].unwrap()
                    && branch["holder"].as_u64().map(|text| data["texts"][text as usize].as_str().unwrap().to_owned())
                        == names[*row]
            };
            assert!(rows.any(|row| is_it(&row)), "{branch}");
            let level = branch["level"].as_u64().unwrap();
            match branch["parent"].as_u64() {
                None => assert_eq!(level, 1),
                Some(above) => {
                    assert!((above as usize) < at);
                    assert_eq!(branches[above as usize]["level"], level - 1);
                }
            }
        }
    }
}

#[test]
fn a_page_is_made_of_what_there_is() {
    let lake = Lake::new();
    let input = fixtures::v8("small");
    lake.analyze(&input).args(["--tables", "classes"]).assert().success();
    let page = lake.folder().join("it.html");
    heaplake().arg("report").arg(lake.run()).arg("-o").arg(&page).assert().success();
    let data = data(&page);
    for missing in ["groups", "stages", "chains", "holders"] {
        assert_eq!(data[missing], Value::Null, "{missing}");
    }
    assert!(!data["classes"]["rows"].as_array().unwrap().is_empty());
    // The same run gives the same bytes.
    let again = lake.folder().join("again.html");
    heaplake().arg("report").arg(lake.run()).arg("-o").arg(&again).assert().success();
    assert_eq!(fs::read(page).unwrap(), fs::read(again).unwrap());
}

#[test]
fn complaints_name_the_place() {
    let lake = Lake::new();
    let (cause, _) = diagnostic(heaplake().arg("report").arg(lake.folder()), 2);
    assert!(cause.contains("no run"), "{cause}");
    lake.analyze(fixtures::v8("small")).assert().success();
    let (cause, advice) = diagnostic(heaplake().arg("report").arg(lake.run()).args(["--memory", "30MiB"]), 3);
    assert!(cause.contains("report") && advice.contains("--memory"), "{cause} {advice}");
    fs::write(lake.run().join("classes.parquet"), b"PAR1 no PAR1").unwrap();
    let (cause, _) = diagnostic(heaplake().arg("report").arg(lake.run()), 1);
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
