//! A lake in a store: its objects, conditional puts, and commands on it.

use crate::common::{OTHER, SMALL, World, assert_same, fixture, local_tables};
use crate::proxy::Act;
use heaplake_support::lake::diagnostic;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn tables_of_a_run_have_the_bytes_of_a_local_one() {
    let world = World::new();
    let options = ["--duplicates", "all", "--edges"];
    world
        .analyze(fixture(SMALL))
        .args(options)
        .args(["--release", "7.2", "--snapshot", "one", "--label", "host=a"])
        .assert()
        .success();
    let named = [&options[..], &["--release", "7.2", "--snapshot", "one"]].concat();
    assert_same(&world.tables(), &local_tables(&fixture(SMALL), &named), "new");
    assert_eq!(world.verified("new").len(), 1);
    let keys = world.server.keys("lake/");
    let top = keys.iter().filter(|key| key.matches('/').count() == 3 && !key.starts_with("lake/catalogue/"));
    let top: Vec<&String> = top.collect();
    assert!(top.len() == 1 && top[0].starts_with("lake/release=7.2/snapshot=") && top[0].ends_with("/run.json"));
}

#[test]
fn a_run_that_is_there_is_told_and_replaced_only_by_force() {
    let world = World::new();
    let analyze = |input: &str| {
        let mut command = world.analyze(fixture(input));
        command.args(["--snapshot", "one", "--report"]);
        command
    };
    analyze(SMALL).assert().success();
    let before = world.server.keys("lake/");
    analyze(SMALL).assert().success();
    assert_eq!(world.server.keys("lake/"), before, "the same run is left alone");
    let (cause, advice) = diagnostic(&mut analyze(OTHER), 1);
    assert!(cause.contains("a run stands here") && advice.contains("--force"), "{cause} {advice}");
    assert_eq!(world.server.keys("lake/"), before);
    analyze(OTHER).arg("--force").assert().success();
    assert_same(&world.tables(), &local_tables(&fixture(OTHER), &["--snapshot", "one"]), "replaced");
    let after = world.server.keys("lake/");
    assert!(
        after.iter().filter(|key| key.ends_with("/nodes.parquet")).count() == 1,
        "the old tables are gone: {after:?}"
    );
    assert!(after.iter().any(|key| key.ends_with("/report.html")));
    assert_eq!(world.verified("replaced"), ["snapshot=one"]);
}

#[test]
fn of_two_that_upload_one_run_at_a_time_one_wins() {
    let world = World::new();
    // Uploads take long, so that both have begun before one ends.
    world.proxy.rule(|asked| if asked.method == "PUT" { Act::Wait(Duration::from_millis(100)) } else { Act::Pass });
    let start = |input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        command.envs(world.environment()).arg("analyze").arg(fixture(input));
        command.args(["--out", &world.url("lake"), "--quiet", "--snapshot", "one", "--scratch"]).arg(world.scratch());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let outcomes = [start(SMALL), start(OTHER)].map(|child| child.wait_with_output().unwrap());
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.status.code().unwrap()).collect();
    let told: String = outcomes.iter().map(|outcome| String::from_utf8_lossy(&outcome.stderr).into_owned()).collect();
    assert!(codes == [0, 1] || codes == [1, 0], "{codes:?} {told}");
    assert!(told.contains("somebody changed what stands here") || told.contains("a run stands here"), "{told}");
    let winner = if codes[0] == 0 { SMALL } else { OTHER };
    assert_same(&world.tables(), &local_tables(&fixture(winner), &["--snapshot", "one"]), "the winner's");
    assert_eq!(world.verified("one of two").len(), 1);
    let folders = world.server.keys("lake/").iter().filter(|key| key.ends_with("/nodes.parquet")).count();
    assert_eq!(folders, 1, "the loser leaves nothing");
}

#[test]
fn runs_are_dropped_and_merged_from_a_store() {
    let world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one", "--release", "1"]).assert().success();
    world.analyze(fixture(OTHER)).args(["--snapshot", "two", "--release", "2"]).assert().success();
    let lake = heaplake_support::lake::Lake::new();
    let mut merge = world.heaplake();
    merge.args(["lake", "merge", &world.url("lake"), "--quiet", "--out"]).arg(lake.path()).assert().success();
    assert_eq!(lake.runs().len(), 2);
    world.heaplake().args(["lake", "verify", "--quiet"]).arg(lake.path()).assert().success();
    let dry = world.json(&["lake", "drop", &world.url("lake"), "--release", "1"], 0);
    assert_eq!((dry["dry_run"].as_bool(), dry["runs"].as_array().map(Vec::len)), (Some(true), Some(1)));
    world.json(&["lake", "drop", &world.url("lake"), "--release", "1", "--yes"], 0);
    assert_eq!(world.verified("dropped"), ["snapshot=two"]);
    assert_eq!(world.server.keys("lake/release=1/"), Vec::<String>::new());
}

#[test]
fn runs_are_merged_into_a_store() {
    let (world, lake) = (World::new(), heaplake_support::lake::Lake::new());
    for (name, input) in [("one", SMALL), ("two", OTHER)] {
        lake.analyze(fixture(input)).args(["--snapshot", name, "--report"]).assert().success();
    }
    let local = lake.path().display().to_string();
    let merge = |more: &[&str]| {
        let url = world.url("lake");
        let merged = world.json(&[&["lake", "merge", &local, "--out", &url], more].concat(), 0);
        let runs = merged["runs"].as_array().unwrap().clone();
        runs.iter().map(|run| run["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(merge(&[]), ["merged", "merged"]);
    let keys = world.server.keys("lake/");
    assert_eq!(keys.iter().filter(|key| key.ends_with("/report.html")).count(), 2, "{keys:?}");
    assert_eq!(world.verified("merged"), ["snapshot=one", "snapshot=two"]);
    assert_eq!(merge(&["--move"]), ["present", "present"]);
    assert_eq!(world.server.keys("lake/"), keys);
    assert_eq!(lake.runs().len(), 0, "what the store has is removed here");
    let back = heaplake_support::lake::Lake::new();
    let mut command = world.heaplake();
    command.args(["lake", "merge", &world.url("lake"), "--quiet", "--out"]).arg(back.path()).assert().success();
    world.heaplake().args(["lake", "verify", "--quiet"]).arg(back.path()).assert().success();
}

#[test]
fn what_cannot_be_in_a_store_is_refused() {
    let world = World::new();
    world.analyze(fixture(SMALL)).assert().success();
    let lake = world.url("lake");
    let page = world.url("diff.html");
    let (cause, advice) = diagnostic(world.heaplake().args(["diff", &lake, &lake, "--report", &page]), 2);
    assert!(cause.contains("diff.html") && advice.contains("of this machine"), "{cause} {advice}");
    let (cause, _) = diagnostic(world.heaplake().args(["show", &world.url("nothing")]), 2);
    assert!(cause.contains("no run"), "{cause}");
    assert!(!std::path::Path::new("s3:").exists());
}
