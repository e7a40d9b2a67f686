//! `heaplake lake compact` in a store: packed runs answer as before, whatever is killed, dropped or written meanwhile.

use crate::common::{OTHER, SMALL, World, fixture};
use crate::kills::killed_at;
use crate::proxy::{Act, Asked};
use heaplake_kit::fs::files_below;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// A lake of four runs of two releases, captured on one day.
fn world() -> World {
    let world = World::new();
    for (input, release, snapshot) in
        [(SMALL, "1", "a"), (OTHER, "1", "b"), (OTHER, "1", "c"), (SMALL, "2", "a"), (OTHER, "2", "b")]
    {
        analyze(&world, input, release, snapshot);
    }
    world
}

fn analyze(world: &World, input: &str, release: &str, snapshot: &str) {
    let path = world.scratch().join("input.heapsnapshot.zst");
    fs::copy(fixture(input), &path).unwrap();
    // 2026-11-22, 03:33 UTC.
    let captured = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_318_400);
    fs::File::options().write(true).open(&path).unwrap().set_modified(captured).unwrap();
    world.analyze(path).args(["--release", release, "--snapshot", snapshot, "--force"]).assert().success();
}

fn compact(world: &World) -> Value {
    world.json(&["lake", "compact", &world.url("lake")], 0)
}

/// The tables of runs that are objects of their own, without nodes and edges.
fn small_tables(world: &World) -> Vec<String> {
    let mut keys = world.server.keys("lake/release=");
    keys.retain(|key| {
        key.ends_with(".parquet") && !key.ends_with("/nodes.parquet") && !key.ends_with("/edges.parquet")
    });
    keys
}

fn packs(world: &World) -> Vec<String> {
    world.server.keys("lake/tables/")
}

/// What commands print of rows of the runs.
fn answers(world: &World) -> Vec<String> {
    let lake = world.url("lake");
    let run = |release: &str, name: &str| format!("{lake}/release={release}/snapshot={name}");
    let mut asked = vec![
        vec!["show".to_owned(), run("1", "a")],
        vec!["top".to_owned(), run("1", "b"), "--class".to_owned(), "*".to_owned()],
    ];
    if cfg!(feature = "sql") {
        let statement =
            "SELECT release, snapshot, class, count, shallow_bytes FROM classes ORDER BY 1, 2, 3, 4, 5 LIMIT 500";
        asked.push(["sql", statement, "--format", "csv", "--lake", &lake].map(str::to_owned).to_vec());
    }
    asked.iter().map(|words| said(world, words)).collect()
}

fn said(world: &World, words: &[String]) -> String {
    let output = world.heaplake().args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.replace("tables/classes/**/*.parquet", "*/*/classes.parquet")
}

/// As [`answers`], with a comparison, and the tables of a rollup of the lake.
fn all_answers(world: &World) -> Vec<String> {
    let (lake, folder) = (world.url("lake"), tempfile::tempdir().unwrap());
    let (base, target) = (format!("{lake}/release=1/snapshot=a"), format!("{lake}/release=2/snapshot=b"));
    let out = folder.path().display().to_string();
    let mut all = answers(world);
    for words in [
        &["dominators", &target][..],
        &["diff", &base, &target, "--json"],
        &["fleet", "rollup", &lake, "--out", &out, "--quiet"],
    ] {
        all.push(said(world, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()));
    }
    let is_table = |path: &PathBuf| path.extension().is_some_and(|end| end == "parquet");
    // The name of a group's folder depends on the seals of its runs.
    let of_table = |path: PathBuf| format!("{:?} {:x}", path.file_name(), xxh3_64(&fs::read(&path).unwrap()));
    let mut tables: Vec<String> =
        files_below(folder.path()).unwrap().into_iter().filter(is_table).map(of_table).collect();
    tables.sort();
    all.extend(tables);
    all
}

fn assert_same(after: &[String], before: &[String], what: &str) {
    assert_eq!(after.len(), before.len(), "{what}");
    for (one, other) in before.iter().zip(after) {
        assert!(one == other, "{what}:\n{one}\n{other}");
    }
}

#[test]
fn packed_runs_of_a_store_answer_as_before() {
    let world = world();
    let before = all_answers(&world);
    let tables = small_tables(&world).len();
    world.server.put("lake/tables/classes/notes.txt", b"mine");
    let compacted = compact(&world);
    assert_eq!(compacted["runs"], 5, "{compacted}");
    assert_eq!(compacted["files"], tables, "{compacted}");
    assert_eq!(small_tables(&world), [""; 0]);
    assert_eq!(packs(&world).len(), compacted["packs"].as_u64().unwrap() as usize + 1);
    assert_eq!(world.verified("compacted").len(), 5);
    let foreign = &world.json(&["lake", "verify", &world.url("lake")], 0)["foreign"];
    assert_eq!(*foreign, serde_json::json!([world.url("lake/tables/classes/notes.txt")]));
    assert_same(&all_answers(&world), &before, "compacted");
    // Without the catalogue, too.
    world.server.keys("lake/catalogue/").iter().for_each(|key| world.server.delete(key));
    assert_same(&all_answers(&world), &before, "without the catalogue");
    let again = compact(&world);
    assert_eq!((&again["runs"], &again["packed_before"]), (&0.into(), &5.into()), "{again}");
    // A merge brings the runs with files of their own.
    let local = tempfile::tempdir().unwrap();
    let lake = local.path().join("lake").display().to_string();
    let merged = world.json(&["lake", "merge", &world.url("lake"), "--out", &lake], 0);
    assert!(merged["runs"].as_array().unwrap().iter().all(|run| run["status"] == "merged"), "{merged}");
    assert_eq!(world.json(&["lake", "verify", &lake], 0)["runs"].as_array().unwrap().len(), 5);
}

/// Names of the runs of release 1 in its pack of classes, by the metadata of the file.
fn members(world: &World) -> Vec<String> {
    let keys = packs(world);
    let key = keys.iter().find(|key| key.starts_with("lake/tables/classes/release=1/")).unwrap();
    let bytes = world.server.get(key);
    let text = String::from_utf8_lossy(&bytes);
    let list = text.split("\"runs\":").nth(1).unwrap();
    let names = list.split("\"snapshot\":\"").skip(1);
    names.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn rows_of_dropped_and_replaced_runs_go() {
    let world = world();
    compact(&world);
    assert_eq!(members(&world), ["a", "b", "c"]);
    let drop = |release: &str| {
        let words = ["lake", "drop", &world.url("lake"), "a", "--release", release, "--yes", "--quiet"];
        world.heaplake().args(words).assert().success();
    };
    drop("1");
    assert_eq!(members(&world), ["b", "c"]);
    assert_eq!(world.verified("dropped").len(), 4);
    analyze(&world, SMALL, "1", "b");
    let replaced = compact(&world);
    assert_eq!((&replaced["runs"], &replaced["packed_before"]), (&1.into(), &3.into()), "{replaced}");
    assert_eq!((members(&world), world.verified("replaced").len()), (vec!["b".to_owned(), "c".to_owned()], 4));
    // Of a pack whose runs are all gone, no row is left.
    world.heaplake().args(["lake", "drop", &world.url("lake"), "*", "--yes", "--quiet"]).assert().success();
    assert_eq!(members(&world), [""; 0]);
}

fn compaction(world: &World) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).args(["lake", "compact", &world.url("lake"), "--quiet"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A drop and another compaction go from begin to end just before this one puts its first pack, or its first description.
#[test]
fn of_two_compactions_one_changes_nothing() {
    for (file, expected) in
        [(".parquet", "another command wrote this pack"), ("/run.json", "another command changed this run")]
    {
        let world = world();
        let lake = world.url("lake");
        let others: [&[&str]; 2] =
            [&["lake", "drop", &lake, "c", "--yes", "--quiet"], &["lake", "compact", &lake, "--quiet"]];
        let mut others = others.map(|words| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
            // Not through the proxy, which waits.
            let endpoint = format!("http://127.0.0.1:{}", world.server.port);
            command.envs(world.environment()).env("AWS_ENDPOINT_URL", endpoint).args(words);
            command
        });
        let mut is_first = true;
        world.proxy.rule(move |asked| {
            if asked.method == "PUT" && asked.path.contains(file) && is_first {
                is_first = false;
                others.iter_mut().for_each(|other| assert!(other.status().unwrap().success()));
            }
            Act::Pass
        });
        let output = world.heaplake().args(["lake", "compact", &lake, "--quiet"]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && told.contains(expected), "{told}");
        world.proxy.rule(|_| Act::Pass);
        assert_eq!(world.verified(file).len(), 4);
        assert_eq!(compact(&world)["runs"], 0);
        assert_eq!((members(&world), small_tables(&world)), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
    }
}

/// Runs `commands` before the answer to the first request that `is_it` takes of a compaction, which then ends with `code`.
fn compact_while(world: &World, is_it: fn(&Asked) -> bool, commands: Vec<Command>, code: i32) {
    let mut commands = Some(commands);
    world.proxy.rule(move |asked| {
        if is_it(asked) {
            for mut command in commands.take().into_iter().flatten() {
                assert!(command.status().unwrap().success());
            }
        }
        Act::Pass
    });
    let output = world.heaplake().args(["lake", "compact", &world.url("lake"), "--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    world.proxy.rule(|_| Act::Pass);
}

/// A command that does not go through the proxy, which waits.
fn beside(world: &World, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    let endpoint = format!("http://127.0.0.1:{}", world.server.port);
    command.envs(world.environment()).env("AWS_ENDPOINT_URL", endpoint).args(words);
    command.stdout(Stdio::null());
    command
}

/// The first look for a pack: the tables of the runs are copied by then.
fn is_look(asked: &Asked) -> bool {
    asked.method == "HEAD" && asked.path.contains("/tables/")
}

/// Before a compaction opens the packs, a run is changed and packed by others.
#[test]
fn a_slow_compaction_keeps_newer_rows() {
    let world = world();
    let lake = world.url("lake");
    let label = ["lake", "label", &lake, "b", "--set", "x=1", "--yes", "--quiet"];
    let compact_it = ["lake", "compact", &lake, "--quiet"];
    let before = answers(&world);
    compact_while(&world, is_look, vec![beside(&world, &label), beside(&world, &compact_it)], 1);
    assert_eq!(world.verified("labelled and packed meanwhile").len(), 5);
    assert_same(&answers(&world), &before, "labelled and packed meanwhile");
}

/// A run that was packed when a compaction began is made anew, and packed by another one, before the first one prunes.
#[test]
fn pruning_keeps_newer_rows() {
    let world = world();
    let lake = world.url("lake");
    compact(&world);
    analyze(&world, SMALL, "1", "new");
    let input = world.scratch().join("input.heapsnapshot.zst");
    let anew = ["analyze", input.to_str().unwrap(), "--out", &lake, "--quiet", "--force", "--release", "1"];
    let mut anew = beside(&world, &[&anew[..], &["--snapshot", "b"]].concat());
    anew.arg("--scratch").arg(world.scratch());
    compact_while(&world, is_look, vec![anew, beside(&world, &["lake", "compact", &lake])], 1);
    assert_eq!(world.verified("packed anew meanwhile").len(), 6);
    assert_eq!(members(&world), ["a", "b", "c", "new"]);
}

/// A slash at the end of a lake changes nothing.
#[test]
fn a_lake_may_end_with_a_slash() {
    let world = world();
    assert_eq!(world.json(&["lake", "compact", &world.url("lake/")], 0)["runs"], 5);
    assert_eq!(world.verified("with a slash").len(), 5);
}

/// A drop of another run prunes the packs while a compaction, which has put them, has not switched its runs yet.
#[test]
fn a_drop_keeps_rows_of_runs_that_are_being_packed() {
    let world = world();
    compact(&world);
    analyze(&world, SMALL, "1", "d");
    let mut other = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    other.envs(world.environment()).env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", world.server.port));
    other.args(["lake", "drop", &world.url("lake"), "a", "--release", "1", "--yes", "--quiet"]);
    let mut is_first = true;
    world.proxy.rule(move |asked| {
        if asked.method == "PUT" && asked.path.ends_with("/run.json") && is_first {
            is_first = false;
            assert!(other.status().unwrap().success());
        }
        Act::Pass
    });
    let compacted = compact(&world);
    world.proxy.rule(|_| Act::Pass);
    assert_eq!(compacted["runs"], 1, "{compacted}");
    assert_eq!(world.verified("dropped meanwhile").len(), 5);
    assert_eq!(members(&world), ["b", "c", "d"]);
}

/// Kills compactions `times` times, at varying requests that write: every run is whole, and the next compaction ends.
fn killed_compactions(times: u64) {
    let world = world();
    let writes = |asked: &Asked| !["GET", "HEAD"].contains(&&*asked.method);
    let mut killed = 0;
    for time in 0..times {
        // Two runs that are not packed.
        analyze(&world, [SMALL, OTHER][(time % 2) as usize], "1", "b");
        analyze(&world, [OTHER, SMALL][(time % 2) as usize], "2", &format!("new{time}"));
        let before = answers(&world);
        killed += u64::from(killed_at(&world, time * 5 % 23, writes, || compaction(&world).spawn().unwrap()));
        assert_eq!(world.verified(&format!("kill {time}")).len(), 6, "kill {time}");
        assert_same(&answers(&world), &before, &format!("kill {time}"));
        assert!(compaction(&world).status().unwrap().success());
        assert_eq!(small_tables(&world), [""; 0], "kill {time}");
        assert_same(&answers(&world), &before, &format!("kill {time}, compacted"));
        let name = format!("new{time}");
        world.heaplake().args(["lake", "drop", &world.url("lake"), &name, "--yes", "--quiet"]).assert().success();
        assert_eq!(world.verified(&format!("kill {time}, dropped")).len(), 5, "kill {time}");
    }
    assert!(killed > times / 2, "{killed} of {times}");
}

#[test]
fn a_compaction_that_is_killed_leaves_every_run_whole() {
    killed_compactions(4);
}

#[test]
#[ignore = "long: fifty kills"]
fn fifty_compactions_that_are_killed_leave_every_run_whole() {
    killed_compactions(50);
}
