//! Commands that read a lake in a store: the same answers as from a folder, and few bytes.

use crate::common::{OTHER, SMALL, World, fixture};
use crate::generated::generated;
use crate::lake::Lake;
use crate::proxy::Act;
use std::fs;

/// The runs of both lakes: release, host, input.
const RUNS: [(&str, &str, &str); 3] = [("1", "a", SMALL), ("1", "b", OTHER), ("2", "a", OTHER)];

/// A lake in the bucket and the same one in a folder.
fn both() -> (World, Lake) {
    let (world, lake) = (World::new(), Lake::new());
    for (at, (release, host, input)) in RUNS.into_iter().enumerate() {
        let options = ["--release", release, "--label", &format!("host={host}"), "--snapshot", &format!("run{at}")]
            .map(str::to_owned);
        world.analyze(fixture(input)).args(&options).args(["--values", "--duplicates", "all"]).assert().success();
        lake.analyze(fixture(input)).args(&options).args(["--values", "--duplicates", "all"]).assert().success();
    }
    (world, lake)
}

#[test]
fn answers_are_those_of_a_folder() {
    let (world, lake) = both();
    let local = lake.path().display().to_string();
    let answer = |lake: &str, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|word| word.replace("LAKE", lake)).collect();
        let output = world.heaplake().args(&arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().replace(lake, "LAKE")
    };
    let run = "LAKE/release=1/snapshot=run0";
    for command in [&["top", run][..], &["top", run, "--json"], &["dominators", run]] {
        let (of_store, of_folder) = (answer(&world.url("lake"), command), answer(&local, command));
        assert!(of_store.len() > 10, "{command:?}");
        assert_eq!(of_store, of_folder, "{command:?}");
    }
    let listed = world.json(&["ls", &world.url("lake")], 0);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(3));
    assert!(listed["runs"][0]["disk_bytes"].as_u64() > Some(10_000), "{listed}");
    assert!(answer(&world.url("lake"), &["show", run]).len() > 200);
}

#[test]
fn comparisons_rollups_and_pages_are_those_of_a_folder() {
    let (world, lake) = both();
    let out = |name: &str| world.scratch().join(name).display().to_string();
    let (url, local) = (world.url("lake"), lake.path().display().to_string());
    for (lake, name) in [(&url, "store"), (&local, "folder")] {
        let [rollup, diff] = ["rollup", "diff"].map(|kind| out(&format!("{name}-{kind}")));
        world.heaplake().args(["fleet", "rollup", lake, "--quiet", "--out", &rollup]).assert().success();
        let sides = ["release=1", "release=2", "--lake", lake];
        world.heaplake().arg("diff").args(sides).args(["--quiet", "--out", &diff]).assert().success();
    }
    let tables = |folder: &str| {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let files = if path.is_dir() {
                fs::read_dir(&path).unwrap().flatten().map(|file| file.path()).collect()
            } else {
                vec![path]
            };
            let tables = files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "parquet"));
            found.extend(tables.map(|file| (file.file_name().unwrap().to_owned(), fs::metadata(&file).unwrap().len())));
        }
        found.sort();
        found
    };
    for kind in ["rollup", "diff"] {
        let of_store = tables(&out(&format!("store-{kind}")));
        assert!(of_store.len() > 3 && of_store.len() == tables(&out(&format!("folder-{kind}"))).len(), "{kind}");
    }
    let page = out("page.html");
    let run = format!("{url}/release=1/snapshot=run1");
    world.heaplake().args(["report", &run, "--quiet", "-o", &page]).assert().success();
    assert!(fs::metadata(&page).unwrap().len() > 20_000);
    world.heaplake().args(["report", &run, "--quiet"]).assert().success();
    assert!(world.server.keys("lake/release=1/snapshot=run1/").iter().any(|key| key.ends_with("report.html")));
}

#[test]
fn few_columns_are_few_bytes() {
    let world = World::new();
    let input = world.scratch().join("big.heapsnapshot");
    fs::write(&input, generated(7, 24 << 20)).unwrap();
    world.analyze(&input).args(["--snapshot", "big", "--edges", "--values"]).assert().success();
    let all: usize = world.tables().values().map(Vec::len).sum();
    world.proxy.rule(|_| Act::Pass);
    world.heaplake().args(["top", &format!("{}/release=none/snapshot=big", world.url("lake"))]).assert().success();
    let read = world.proxy.answered_bytes();
    assert!(all > 2 << 20, "the run is large: {all}");
    assert!(read < all as u64 / 4, "{read} of {all} bytes were read, in {} requests", world.proxy.asked().len());
    assert!(world.proxy.asked().len() < 100, "{}", world.proxy.asked().len());
}

#[cfg(feature = "sql")]
#[test]
fn statements_answer_as_over_a_folder() {
    let (world, lake) = both();
    let answer = |lake: &str, statement: &str| {
        let output = world.heaplake().args(["sql", statement, "--format", "csv", "--lake", lake]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for statement in [
        "SELECT release, class, sum(retained_bytes) FROM classes GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 50",
        "SELECT count(*) FROM nodes WHERE labels['host'] = 'b'",
        "SELECT release, count(*) FROM runs GROUP BY 1 ORDER BY 1",
    ] {
        let of_store = answer(&world.url("lake"), statement);
        assert!(of_store.lines().count() > 1, "{of_store}");
        assert_eq!(of_store, answer(&lake.path().display().to_string(), statement), "{statement}");
    }
    world.proxy.rule(|_| Act::Pass);
    answer(&world.url("lake"), "SELECT max(retained_bytes) FROM classes WHERE release = '2'");
    let opened = world.proxy.asked().into_iter().filter(|asked| asked.path.contains("classes.parquet"));
    assert!(opened.map(|asked| asked.path).all(|path| path.contains("release%3D2") || path.contains("release=2")));
}
