//! Comparisons and rollups in a store: the bytes of local ones, whatever is killed or in the way.

use crate::common::{OTHER, SMALL, World, fixture};
use crate::kills::killed_at;
use crate::proxy::{Act, Asked};
use heaplake_support::lake::diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A world with a lake of two runs.
fn world() -> World {
    let world = World::new();
    analyze(&world, SMALL, "1", "one");
    analyze(&world, OTHER, "2", "two");
    world
}

fn analyze(world: &World, input: &str, release: &str, snapshot: &str) {
    world.analyze(fixture(input)).args(["--release", release, "--snapshot", snapshot]).assert().success();
}

/// Files below a folder, hidden ones excepted, by path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else if !name.starts_with('.') {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Objects below a prefix, by path.
fn objects(world: &World, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let keys = world.server.keys(prefix);
    keys.iter().map(|key| (key[prefix.len()..].to_owned(), world.server.get(key))).collect()
}

fn rollup(world: &World, out: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).args(["fleet", "rollup", &world.url("lake"), "--out", out, "--quiet"]);
    command.arg("--scratch").arg(world.scratch()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A rollup of the lake as it is, in a local folder.
fn local_rollup(world: &World) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    assert!(rollup(world, folder.path().to_str().unwrap()).status().unwrap().success());
    files(folder.path())
}

#[test]
fn a_rollup_in_a_store_has_the_bytes_of_a_local_one() {
    let world = world();
    world.server.put("fleet/users.csv", b"a,b");
    world.server.put("fleet/group-0123456789abcdef/users.csv", b"a,b");
    let roll = |what: &str| {
        assert!(rollup(&world, &world.url("fleet")).status().unwrap().success(), "{what}");
        let mut there = objects(&world, "fleet/");
        assert!(there.remove("users.csv").is_some() && there.remove("group-0123456789abcdef/users.csv").is_some());
        assert!(there == local_rollup(&world), "{what}: {:?}", there.keys());
        there
    };
    let first = roll("first");
    let written =
        |world: &World| world.proxy.asked().iter().filter(|asked| !["GET", "HEAD"].contains(&&*asked.method)).count();
    let before = written(&world);
    assert_eq!(roll("unchanged"), first);
    assert_eq!(written(&world), before, "an unchanged rollup writes nothing");
    analyze(&world, OTHER, "1", "three");
    let second = roll("a group with a new run");
    let kept = first.keys().filter(|name| second.contains_key(*name) && name.contains('/')).count();
    assert!(kept > 0 && kept < first.len() - 1, "one group of two is replaced: {:?}", second.keys());
}

#[test]
fn the_rollup_of_a_lake_lies_in_the_lake() {
    let world = world();
    world.heaplake().args(["fleet", "rollup", &world.url("lake"), "--quiet"]).assert().success();
    assert!(world.server.keys("lake/fleet/").iter().any(|key| key.ends_with("/rollup.json")));
    let verified = world.json(&["lake", "verify", &world.url("lake")], 0);
    assert_eq!(verified["foreign"].as_array().map(Vec::len), Some(0), "{verified}");
    assert_eq!(world.json(&["ls", &world.url("lake")], 0)["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_comparison_in_a_store_replaces_only_its_own() {
    let world = world();
    let lake = world.url("lake");
    let diff = |base: &str, target: &str, out: &str| {
        let mut command = world.heaplake();
        command.args(["diff", base, target, "--lake", &lake, "--quiet", "--out", out]);
        command
    };
    let url = world.url("diffs/2.4.1");
    diff("release=1", "release=2", &url).assert().success();
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().to_str().unwrap();
    diff("release=1", "release=2", local).assert().success();
    assert!(objects(&world, "diffs/2.4.1/") == files(folder.path()));
    if cfg!(feature = "sql") {
        let statement = "SELECT count(*) AS rows FROM diff_classes_wide";
        let count = |lake: &str| {
            let output =
                world.heaplake().args(["sql", statement, "--format", "json", "--lake", lake]).output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap()[0]["rows"].as_u64().unwrap()
        };
        assert_eq!((count(&url), count(&url) > 0), (count(local), true));
    }
    world.server.put("diffs/2.4.1/users.csv", b"a,b");
    diff("release=2", "release=1", &url).assert().success();
    diff("release=2", "release=1", local).assert().success();
    let mut there = objects(&world, "diffs/2.4.1/");
    assert!(there.remove("users.csv").is_some());
    assert!(there == files(folder.path()), "{:?}", there.keys());
    // Foreign objects with the names of the comparison stay.
    for name in ["diff_classes.parquet", "diff.json"] {
        world.server.put(&format!("other/{name}"), b"[1]");
        let (cause, _) = diagnostic(&mut diff("release=1", "release=2", &world.url("other")), 2);
        assert!(cause.contains(name), "{cause}");
        assert_eq!(world.server.keys("other/"), [format!("other/{name}")]);
        world.server.delete(&format!("other/{name}"));
    }
}

#[test]
fn of_two_that_write_to_one_place_the_last_fails() {
    let world = world();
    let url = world.url("fleet");
    assert!(rollup(&world, &url).status().unwrap().success());
    analyze(&world, OTHER, "1", "three");
    // Another command replaces the manifest just before this one does.
    let port = world.server.port;
    let mut is_first = true;
    world.proxy.rule(move |asked| {
        if asked.method == "PUT" && asked.path.contains("rollup.json") && is_first {
            is_first = false;
            crate::server::overwrite(port, "fleet/rollup.json", b"{}");
        }
        Act::Pass
    });
    let mut command = world.heaplake();
    command.args(["fleet", "rollup", &world.url("lake"), "--quiet", "--out", &url]);
    let (cause, advice) = diagnostic(&mut command, 1);
    assert!(cause.contains("another command wrote there meanwhile") && advice.contains("again"), "{cause} {advice}");
}

/// Kills rollups `times` times, at varying requests that write: the manifest names whole groups or is the earlier one,
/// and the next rollup has the bytes of a local one.
fn killed_rollups(times: u64) {
    let world = world();
    let writes = |asked: &Asked| asked.method != "GET" && asked.method != "HEAD";
    let url = world.url("fleet");
    let mut killed = 0;
    for time in 0..times {
        // Each time another group changes.
        let release = (time % 2 + 1).to_string();
        analyze(&world, [SMALL, OTHER][(time / 2 % 2) as usize], &release, &format!("run{time}"));
        killed += u64::from(killed_at(&world, time * 5 % 23, writes, || rollup(&world, &url).spawn().unwrap()));
        let there = objects(&world, "fleet/");
        if let Some(manifest) = there.get("rollup.json") {
            let manifest: Value = serde_json::from_slice(manifest).unwrap();
            for group in manifest["groups"].as_array().unwrap() {
                for table in group["tables"].as_array().unwrap() {
                    let path = format!("{}/{}", group["folder"].as_str().unwrap(), table["file"].as_str().unwrap());
                    let bytes = there.get(&path).map(|bytes| bytes.len() as u64);
                    assert_eq!(bytes, table["bytes"].as_u64(), "kill {time}: {path}");
                }
            }
        }
        assert!(rollup(&world, &url).status().unwrap().success());
        assert!(objects(&world, "fleet/") == local_rollup(&world), "kill {time}");
        // The next time the runs are those of the beginning.
        let run = format!("run{time}");
        world.heaplake().args(["lake", "drop", &world.url("lake"), &run, "--yes", "--quiet"]).assert().success();
    }
    assert!(killed > times / 2, "{killed} of {times}");
}

#[test]
fn a_rollup_that_is_killed_is_whole_or_absent() {
    killed_rollups(6);
}

#[test]
#[ignore = "long: fifty kills"]
fn fifty_rollups_that_are_killed_are_whole_or_absent() {
    killed_rollups(50);
}
