//! Commands that read a lake in a store: the same answers as from a folder, and few bytes.

use crate::common::{OTHER, SMALL, World, assert_same, fixture, local_tables};
use crate::proxy::Act;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::table::Table;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The runs of both lakes: release, host, input.
const RUNS: [(&str, &str, &str); 3] = [("1", "a", SMALL), ("1", "b", OTHER), ("2", "a", OTHER)];

/// A lake in the bucket and the same one in a folder.
fn both() -> (World, Lake) {
    let (world, lake) = (World::new(), Lake::new());
    for (at, (release, host, input)) in RUNS.into_iter().enumerate() {
        let (host, name) = (format!("host={host}"), format!("run{at}"));
        let named = ["--release", release, "--label", &host, "--snapshot", &name];
        for mut command in [world.analyze(fixture(input)), lake.analyze(fixture(input))] {
            command.args(named).args(["--edges", "--values", "--duplicates", "all"]).assert().success();
        }
    }
    (world, lake)
}

/// Output of a command for both lakes; LAKE in its arguments is replaced.
fn answers(world: &World, lake: &Lake, arguments: &[&str]) -> [String; 2] {
    [world.url("lake"), lake.path().display().to_string()].map(|lake| {
        let arguments: Vec<String> = arguments.iter().map(|word| word.replace("LAKE", &lake)).collect();
        let output = world.heaplake().args(&arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().replace(&lake, "LAKE")
    })
}

/// Fails unless a command prints the same for both lakes; returns the output.
fn assert_same_answer(world: &World, lake: &Lake, arguments: &[&str]) -> String {
    let [of_store, of_folder] = answers(world, lake, arguments);
    assert!(of_store.len() > 10, "{arguments:?}: {of_store}");
    assert_eq!(of_store, of_folder, "{arguments:?}");
    of_store
}

#[test]
fn answers_are_those_of_a_folder() {
    let (world, lake) = both();
    let run = "LAKE/release=1/snapshot=run0";
    for command in [
        &["top", run][..],
        &["top", run, "--json"],
        &["dominators", run],
        &["why", run, "@1", "--json"],
        &["object", run, "--set", "0", "--json"],
        &["query", run, "class ~ \"a\" and dominated by (retained > 100)", "--json"],
    ] {
        assert_same_answer(&world, &lake, command);
    }
    let top: Value = serde_json::from_str(&assert_same_answer(&world, &lake, &["top", run, "--json"])).unwrap();
    let node = top["objects"][5]["node"].to_string();
    for command in [&["why", run, &node][..], &["why", run, &node, "--paths", "3"], &["object", run, &node]] {
        assert_same_answer(&world, &lake, command);
    }
    let listed = world.json(&["ls", &world.url("lake")], 0);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(3));
    assert!(listed["runs"][0]["disk_bytes"].as_u64() > Some(10_000), "{listed}");
    let [of_store, of_folder] = answers(&world, &lake, &["show", run]);
    assert!(of_store.len() > 200 && of_store.lines().count() == of_folder.lines().count(), "{of_store}");
}

/// The tables below a folder, by name, sorted.
fn tables(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(tables(&path));
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            found.push((path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn comparisons_rollups_and_pages_are_those_of_a_folder() {
    let (world, lake) = both();
    let out = |name: &str| world.scratch().join(name).display().to_string();
    let (url, local) = (world.url("lake"), lake.path().display().to_string());
    for (lake, name) in [(&url, "store"), (&local, "folder")] {
        let [rollup, diff, trend] = ["rollup", "diff", "trend"].map(|kind| out(&format!("{name}-{kind}")));
        world.heaplake().args(["fleet", "rollup", lake, "--quiet", "--out", &rollup]).assert().success();
        let sides = ["release=1", "release=2", "--lake", lake];
        world.heaplake().arg("diff").args(sides).args(["--quiet", "--out", &diff]).assert().success();
        let steps = ["snapshot=run0", "snapshot=run1", "release=2", "--lake", lake];
        world.heaplake().arg("trend").args(steps).args(["--quiet", "--out", &trend]).assert().success();
    }
    for kind in ["rollup", "diff", "trend"] {
        let [of_store, of_folder] = ["store", "folder"].map(|name| tables(Path::new(&out(&format!("{name}-{kind}")))));
        let names = |tables: &[(String, Vec<u8>)]| tables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert!(of_store.len() > 3, "{kind}");
        assert_eq!(names(&of_store), names(&of_folder), "{kind}");
        let other = of_store.iter().zip(&of_folder).filter(|(one, other)| one != other).map(|(one, _)| &one.0);
        assert_eq!(other.collect::<Vec<_>>(), Vec::<&String>::new(), "{kind}: tables that differ");
    }
    let page = out("page.html");
    let run = format!("{url}/release=1/snapshot=run1");
    world.heaplake().args(["report", &run, "--quiet", "-o", &page]).assert().success();
    assert!(fs::metadata(&page).unwrap().len() > 20_000);
    world.heaplake().args(["report", &run, "--quiet"]).assert().success();
    assert!(world.server.keys("lake/release=1/snapshot=run1/").iter().any(|key| key.ends_with("report.html")));
}

#[test]
fn a_replay_is_asked_for_addresses_as_in_a_folder() {
    let (world, lake) = (World::new(), Lake::new());
    for out in [world.url("lake"), lake.path().display().to_string()] {
        let mut command = world.heaplake();
        command.arg("replay").arg(fixture("dotnet/net8_exact.log.zst"));
        command.args(["--snapshot", "log", "--tracks", "--quiet", "--out", &out]).assert().success();
    }
    let tracks = Table::read(&lake.run(), "object_tracks.parquet");
    let (first, born) = (tracks.u64s("first_address"), tracks.u32s("allocated_at_gc"));
    for row in [0, tracks.rows() / 2] {
        let at = format!("{:x}@{}", first[row].unwrap(), born[row].unwrap());
        let said = assert_same_answer(&world, &lake, &["track", "LAKE/release=none/snapshot=log", &at, "--json"]);
        assert!(said.contains("first_address"), "{said}");
    }
}

#[test]
fn duplicates_are_looked_for_as_in_a_folder() {
    let (world, lake) = (World::new(), Lake::new());
    for mut command in [world.analyze(fixture(SMALL)), lake.analyze(fixture(SMALL))] {
        command.args(["--snapshot", "one", "--report", "--duplicates", "none"]).assert().success();
    }
    assert!(!world.tables().contains_key("duplicate_sets.parquet"));
    let [of_store, of_folder] =
        answers(&world, &lake, &["duplicates", "LAKE/release=none/snapshot=one", "--values", "--quiet"]);
    assert_eq!((of_store.as_str(), of_folder.as_str()), ("", ""));
    let expected = local_tables(&fixture(SMALL), &["--snapshot", "one", "--duplicates", "all", "--values"]);
    assert!(expected.contains_key("duplicate_sets.parquet"));
    assert_same(&world.tables(), &expected, "duplicates");
    assert_eq!(world.verified("duplicates"), ["snapshot=one"]);
    let keys = world.server.keys("lake/");
    assert!(keys.iter().any(|key| key.ends_with("/report.html")), "{keys:?}");
    assert_eq!(keys.iter().filter(|key| key.ends_with("/nodes.parquet")).count(), 1, "{keys:?}");
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

#[test]
fn a_small_table_is_compared_with_its_checksum() {
    let world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one"]).assert().success();
    let key = world.server.keys("lake/").into_iter().find(|key| key.ends_with("/classes.parquet")).unwrap();
    let mut bytes = world.server.get(&key);
    // No page's checksum covers this byte.
    bytes[3] ^= 1;
    world.server.put(&key, &bytes);
    let run = world.url("lake/release=none/snapshot=one");
    let (cause, _) = diagnostic(world.heaplake().args(["top", &run, "--class", "*"]), 1);
    assert!(cause.contains("classes.parquet") && cause.contains("expected XXH3-64"), "{cause}");
    let verified = world.json(&["lake", "verify", &world.url("lake")], 1);
    assert!(verified["runs"][0].to_string().contains("XXH3-64"), "{verified}");
}
