//! Inputs in a store: named, listed, matched, streamed, read again.

use crate::common::{OTHER, SMALL, World, content, fixture, local_tables, without_measurements};
use crate::proxy::Act;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn tables(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().flatten().map(|entry| entry.path());
    let named = files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()));
    without_measurements(named.collect())
}

#[test]
fn an_object_is_analysed_as_a_file_is() {
    let world = World::new();
    for name in [SMALL, "jvm/dupfix.hprof.zst", "jvm/hello-gz1.hprof.gz"] {
        let key = format!("incoming/{}", name.rsplit('/').next().unwrap());
        world.server.put(&key, &content(name));
        let lake = Lake::new();
        let mut command = world.heaplake();
        command.args(["analyze", &world.url(&key), "--quiet", "--out"]).arg(lake.path()).assert().success();
        let own = tables(&lake.run());
        assert!(own.len() > 3 && own == local_tables(&fixture(name), &[]), "{name}");
    }
}

#[test]
fn prefixes_and_patterns_name_objects_in_order() {
    let world = World::new();
    for key in ["in/b/two.heapsnapshot.zst", "in/a.heapsnapshot.zst", "in/notes.txt", "in/.hidden/x.heapsnapshot.zst"] {
        let file = if key.contains("two") { OTHER } else { SMALL };
        world.server.put(key, &content(file));
    }
    let inputs = |named: &str| -> Vec<String> {
        let lake = Lake::new();
        let mut command = world.heaplake();
        let output = command.args(["analyze", &world.url(named), "--json", "--label", "of={stem}", "--out"]);
        let output = output.arg(lake.path()).output().unwrap();
        assert!(output.status.success(), "{named}: {}", String::from_utf8_lossy(&output.stderr));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        told.as_array().unwrap().iter().map(|run| run["input"].as_str().unwrap().to_owned()).collect()
    };
    let both = [world.url("in/a.heapsnapshot.zst"), world.url("in/b/two.heapsnapshot.zst")];
    assert_eq!(inputs("in/"), both);
    assert_eq!(inputs("in"), both);
    assert_eq!(inputs("in/*.zst"), both[..1]);
    assert_eq!(inputs("in/?/*.heapsnapshot*"), both[1..]);
    for (named, why) in
        [("nothing/", "no such object"), ("in/*.hprof", "no object matches"), ("in/zzz", "no such object")]
    {
        let lake = Lake::new();
        let mut command = world.heaplake();
        let (cause, _) =
            diagnostic(command.args(["analyze", &world.url(named), "--quiet", "--out"]).arg(lake.path()), 1);
        assert!(cause.contains(why), "{cause}");
    }
}

#[test]
fn a_plan_reads_only_the_beginning() {
    let world = World::new();
    world.server.put("big.heapsnapshot", &generated(7, 24 << 20));
    world.proxy.rule(|_| Act::Pass);
    let answer = world.json(&["plan", &world.url("big.heapsnapshot")], 0);
    assert!(answer["nodes"].as_u64().is_some_and(|nodes| nodes > 1000), "{answer}");
    assert!(world.proxy.answered_bytes() < 12 << 20, "{}", world.proxy.answered_bytes());
}

#[test]
fn what_is_in_the_lake_is_left_out() {
    let world = World::new();
    world.server.put("in/a.heapsnapshot.zst", &content(SMALL));
    let analyze = || world.analyze(world.url("in/")).assert().success();
    analyze();
    let before = world.server.keys("lake/");
    analyze();
    assert_eq!(world.server.keys("lake/"), before);
}
