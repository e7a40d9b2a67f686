//! A bucket has other users: their objects stay, and their keys disturb no command.

use crate::common::{OTHER, SMALL, World, fixture};
use heaplake_support::lake::diagnostic;
use serde_json::Value;

fn texts(answer: &Value, list: &str) -> Vec<String> {
    answer[list].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Objects that look like heaplake's leftovers.
const LOOK_ALIKES: [&str; 7] = [
    "lake/backups/tables-2025/users.csv",
    "lake/db/snapshot=42/data.bin",
    "lake/release=none/snapshot=two/data.bin",
    "lake/release=none/snapshot=two/tables-2025/users.csv",
    "lake/release=none/snapshot=one/tables-2025/heaplake-attempt.json",
    "lake/release=none/snapshot=one/tables-2025/users.csv",
    "lake/release=none/snapshot=one/notes.txt",
];

#[test]
fn what_heaplake_did_not_write_stays() {
    let mut world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one", "--report"]).assert().success();
    LOOK_ALIKES.iter().for_each(|key| world.server.put(key, b"{}"));
    // From a version that wrote no marks.
    let unmarked = "lake/release=none/snapshot=one/tables-0123456789abcdef/nodes.parquet";
    world.server.put(unmarked, b"PAR1");
    world.server.age();
    let before = world.server.keys("lake/");
    for lake in [world.url("lake"), world.url("")] {
        world.heaplake().args(["lake", "verify", &lake]).assert().success();
        assert_eq!(world.server.keys("lake/"), before, "a check changes nothing");
    }
    let answer = world.json(&["lake", "verify", &world.url("lake")], 0);
    let is_foreign = |key: &&str| texts(&answer, "foreign").contains(&world.url(key));
    assert_eq!(LOOK_ALIKES.iter().filter(|key| is_foreign(key)).count(), 6, "{answer}");
    let left = answer["left"].as_array().unwrap();
    let marks: Vec<_> = left.iter().map(|left| left["is_marked"].as_bool().unwrap()).collect();
    assert_eq!(marks, [false, true], "{answer}");
    // Neither do those that write.
    world.analyze(fixture(OTHER)).args(["--snapshot", "one", "--force"]).assert().success();
    let kept = |world: &World| {
        let keys = world.server.keys("lake/");
        LOOK_ALIKES.iter().chain([&unmarked]).all(|key| keys.iter().any(|there| there == key))
    };
    assert!(kept(&world));
    world.server.age();
    world.json(&["lake", "drop", &world.url("lake"), "--yes", "one"], 0);
    assert!(kept(&world));
    let keys = world.server.keys("lake/").into_iter().filter(|key| !key.starts_with("lake/catalogue/"));
    assert_eq!(keys.count(), LOOK_ALIKES.len() + 1, "the run is gone as a whole");
}

#[test]
fn keys_that_are_no_paths_are_passed_over_and_named() {
    let world = World::new();
    for (release, input) in [("1", SMALL), ("2", OTHER)] {
        world.analyze(fixture(input)).args(["--snapshot", "one", "--release", release]).assert().success();
    }
    let no_paths = ["lake//x", "lake/../x", "lake/./x", "lake/a%01b", "lake/dir/", "lake/release=1//y"];
    let paths =
        ["lake/50%2525", "lake/release=3", "lake/release=1/snapshot=zz", "lake/release=1/snapshot=one/run.json/y"];
    no_paths.iter().chain(&paths).for_each(|key| world.server.put(key, b"x"));
    let lake = world.url("lake");
    assert_eq!(world.json(&["ls", &lake], 0)["runs"].as_array().map(Vec::len), Some(2));
    let verified = world.json(&["lake", "verify", &lake], 0);
    assert_eq!(verified["runs"].as_array().map(Vec::len), Some(2), "{verified}");
    let foreign = texts(&verified, "foreign");
    assert_eq!(foreign.len(), no_paths.len() + paths.len(), "{foreign:?}");
    for key in ["lake//x", "lake/../x", "lake/./x", "lake/a\u{1}b", "lake/dir/", "lake/50%25", "lake/release=3"] {
        assert!(foreign.contains(&world.url(key)), "{key}: {foreign:?}");
    }
    let text = world.heaplake().args(["lake", "verify", &lake]).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("foreign") && !text.contains('\u{1}'), "{text}");
    let out = |name: &str| world.scratch().join(name).display().to_string();
    let (diff, rollup) = (out("diff"), out("rollup"));
    for words in [
        &["diff", "release=1", "release=2", "--lake", &lake, "--out", &diff, "--quiet"][..],
        &["fleet", "rollup", &lake, "--out", &rollup, "--quiet"],
        &["top", &format!("{lake}/release=1/snapshot=one")],
    ] {
        world.heaplake().args(words).assert().success();
    }
    world.analyze(fixture(SMALL)).args(["--snapshot", "new", "--release", "1"]).assert().success();
    world.json(&["lake", "drop", &lake, "--release", "1", "--yes"], 0);
    assert_eq!(world.verified("dropped"), ["snapshot=one"]);
    assert_eq!(texts(&world.json(&["lake", "verify", &lake], 0), "foreign"), foreign);
    // A lake with only such a key is empty.
    world.server.put("other//x", b"x");
    assert_eq!(world.json(&["ls", &world.url("other")], 0)["runs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_huge_description_is_damage_of_its_run_alone() {
    let world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one"]).assert().success();
    world.server.put("lake/release=none/snapshot=two/run.json", &vec![b' '; (64 << 20) + 1]);
    let lake = world.url("lake");
    let listed = world.json(&["ls", &lake], 0);
    assert_eq!(
        (listed["runs"].as_array().map(Vec::len), listed["damaged"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    assert!(listed["damaged"][0]["problem"].as_str().unwrap().contains("at most 67108864 bytes"), "{listed}");
    world.json(&["lake", "verify", &lake], 1);
    let (cause, _) = diagnostic(world.heaplake().args(["show", &format!("{lake}/release=none/snapshot=two")]), 1);
    assert!(cause.contains("at most"), "{cause}");
    world.json(&["lake", "drop", &lake, "two", "--yes"], 0);
    assert_eq!(world.verified("dropped"), ["snapshot=one"]);
}
