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

/// The files of a comparison or rollup below a prefix, as a local folder would have them, and the other objects there.
fn objects(world: &World, prefix: &str, manifest: &str) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let keys = world.server.keys(prefix);
    let mut folder = String::new();
    let (mut found, mut others) = (BTreeMap::new(), Vec::new());
    if keys.contains(&format!("{prefix}{manifest}")) {
        let text = String::from_utf8(world.server.get(&format!("{prefix}{manifest}"))).unwrap();
        let named: Value = serde_json::from_str(&text).unwrap();
        folder = named["folder"].as_str().unwrap().to_owned();
        found.insert(manifest.to_owned(), text.replacen(&format!("  \"folder\": \"{folder}\",\n"), "", 1).into_bytes());
        folder += "/";
    }
    for key in keys {
        match key[prefix.len()..].strip_prefix(&folder).filter(|_| !folder.is_empty()) {
            Some("heaplake-attempt.json") => {}
            Some(file) => drop(found.insert(file.to_owned(), world.server.get(&key))),
            None if key[prefix.len()..] == *manifest => {}
            None => others.push(key[prefix.len()..].to_owned()),
        }
    }
    (found, others)
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
    let foreign = ["group-0123456789abcdef/users.csv", "tables-0123456789abcdef/rollup_classes.parquet", "users.csv"];
    foreign.iter().for_each(|key| world.server.put(&format!("fleet/{key}"), b"a,b"));
    let roll = |what: &str| {
        // A slash at the end changes nothing.
        assert!(rollup(&world, &world.url("fleet/")).status().unwrap().success(), "{what}");
        let (there, others) = objects(&world, "fleet/", "rollup.json");
        assert_eq!(others, foreign, "{what}");
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
    world.server.put("lake/fleet/users.csv", b"a,b");
    let verified = world.json(&["lake", "verify", &world.url("lake")], 0);
    assert_eq!(verified["foreign"], serde_json::json!([world.url("lake/fleet/users.csv")]), "{verified}");
    assert_eq!(world.json(&["ls", &world.url("lake")], 0)["runs"].as_array().unwrap().len(), 2);
}

fn diff(world: &World, base: &str, target: &str, out: &str) -> assert_cmd::Command {
    let mut command = world.heaplake();
    command.args(["diff", base, target, "--lake", &world.url("lake"), "--quiet", "--out", out]);
    command
}

#[test]
fn a_comparison_in_a_store_replaces_only_its_own() {
    let world = world();
    let url = world.url("diffs/2.4.1");
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().to_str().unwrap();
    for (base, target) in [("release=1", "release=2"), ("release=2", "release=1")] {
        diff(&world, base, target, &url).assert().success();
        diff(&world, base, target, local).assert().success();
        let (there, others) = objects(&world, "diffs/2.4.1/", "diff.json");
        assert!(there == files(folder.path()), "{:?}", there.keys());
        assert!(others.is_empty(), "{others:?}");
    }
    if cfg!(feature = "sql") {
        let statement = "SELECT count(*) AS rows FROM diff_classes_wide";
        let count = |lake: &str| {
            let output =
                world.heaplake().args(["sql", statement, "--format", "json", "--lake", lake]).output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap()[0]["rows"].as_u64().unwrap()
        };
        assert_eq!((count(&url), count(&url) > 0), (count(local), true));
    }
    // A manifest of others stays.
    for content in ["[1]", "{}", "{\"heaplake_version\": \"1\", \"schema"] {
        world.server.put("other/diff.json", content.as_bytes());
        let (cause, _) = diagnostic(&mut diff(&world, "release=1", "release=2", &world.url("other")), 2);
        assert!(cause.contains(&world.url("other/diff.json")), "{cause}");
        assert_eq!(world.server.get("other/diff.json"), content.as_bytes());
    }
    let (cause, _) = diagnostic(&mut diff(&world, "release=1", "release=2", &world.url("")), 2);
    assert!(cause.contains("whole bucket"), "{cause}");
}

/// Another process writes its comparison just before this one puts its manifest: this one fails, and the other one's files
/// stay.
#[test]
fn of_two_that_write_to_one_place_the_last_fails() {
    let world = world();
    let url = world.url("diff");
    for has_one in [false, true] {
        let mut other = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        other.args(["diff", "release=1", "release=2", "--lake", &world.url("lake"), "--quiet", "--out", &url]);
        // Not through the proxy, which waits.
        other.envs(world.environment()).env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", world.server.port));
        let mut is_first = true;
        world.proxy.rule(move |asked| {
            if asked.method == "PUT" && asked.path.contains("diff.json") && is_first {
                is_first = false;
                assert!(other.status().unwrap().success());
            }
            Act::Pass
        });
        let (cause, _) = diagnostic(&mut diff(&world, "release=2", "release=1", &url), 1);
        world.proxy.rule(|_| Act::Pass);
        assert!(cause.contains("another command wrote there meanwhile"), "has one {has_one}: {cause}");
        let folder = tempfile::tempdir().unwrap();
        diff(&world, "release=1", "release=2", folder.path().to_str().unwrap()).assert().success();
        let (there, others) = objects(&world, "diff/", "diff.json");
        assert!(there == files(folder.path()) && others.is_empty(), "{:?} {others:?}", there.keys());
    }
}

/// Kills rollups `times` times, at varying requests that write: the manifest names whole groups, or is the earlier one or
/// absent, and the next rollup has the bytes of a local one.
fn killed_rollups(times: u64) {
    let mut world = world();
    let writes = |asked: &Asked| asked.method != "GET" && asked.method != "HEAD";
    let url = world.url("fleet");
    let mut killed = 0;
    for time in 0..times {
        // Each time another group changes.
        let release = (time % 2 + 1).to_string();
        analyze(&world, [SMALL, OTHER][(time / 2 % 2) as usize], &release, &format!("run{time}"));
        killed += u64::from(killed_at(&world, time * 5 % 23, writes, || rollup(&world, &url).spawn().unwrap()));
        let (there, _) = objects(&world, "fleet/", "rollup.json");
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
        let (there, _) = objects(&world, "fleet/", "rollup.json");
        assert!(there == local_rollup(&world), "kill {time}");
        // The next time the runs are those of the beginning.
        let run = format!("run{time}");
        world.heaplake().args(["lake", "drop", &world.url("lake"), &run, "--yes", "--quiet"]).assert().success();
    }
    assert!(killed > times / 2, "{killed} of {times}");
    // What killed ones left goes once it is old.
    let (_, left) = objects(&world, "fleet/", "rollup.json");
    assert!(!left.is_empty(), "a kill left nothing");
    world.server.age();
    analyze(&world, OTHER, "1", "last");
    assert!(rollup(&world, &url).status().unwrap().success());
    let (_, left) = objects(&world, "fleet/", "rollup.json");
    assert!(left.is_empty(), "{left:?}");
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
