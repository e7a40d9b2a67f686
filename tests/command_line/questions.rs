//! Questions about one object, answered by the real binary.

use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::lake::{Lake, diagnostic, heaplake, said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shop with a cache of three sessions, the second of which is used elsewhere too, and a list of 200 items.
fn snapshot() -> Snapshot {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let shop = it.add_node("object", "Shop", 40);
    it.add_edge(root, "property", "shop", shop);
    let cache = it.add_node("object", "Cache", 24);
    it.add_edge(shop, "property", "cache", cache);
    for index in 0..3 {
        let session = it.add_node("object", "Session", 100 + index);
        it.add_numbered_edge(cache, "element", index, session);
        if index == 1 {
            it.add_edge(shop, "property", "current", session);
        }
    }
    let mut last = shop;
    for _ in 0..200 {
        let item = it.add_node("object", "Item", 8);
        it.add_edge(last, "property", "next", item);
        last = item;
    }
    let lost = it.add_node("object", "Lost", 16);
    it.add_edge(shop, "weak", "maybe", lost);
    it
}

fn run(lake: &Lake, options: &[&str]) -> PathBuf {
    let input = lake.input("Heap.heapsnapshot", &snapshot().to_json(&Layout::default()));
    lake.analyze(input).args(options).args(["--force", "--snapshot=it"]).assert().success();
    lake.run()
}

fn ask(command: &str, run: &Path, options: &[&str]) -> String {
    said(heaplake().arg(command).arg(run).args(options))
}

fn json(command: &str, run: &Path, options: &[&str]) -> Value {
    serde_json::from_str(&ask(command, run, &[options, &["--json"]].concat())).unwrap()
}

/// Classes of a list of steps, each with its incoming edge.
fn steps(path: &Value) -> Vec<(&str, &str)> {
    let steps = path["steps"].as_array().unwrap().iter();
    steps.map(|step| (step["edge"].as_str().unwrap_or(""), step["class"].as_str().unwrap())).collect()
}

#[test]
fn why_knows_the_paths_of_findings_without_edges() {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let shop = it.add_node("object", "Shop", 40);
    it.add_edge(root, "property", "shop", shop);
    let cache = it.add_node("object", "Cache", 24);
    it.add_edge(shop, "property", "cache", cache);
    for index in 0..3000 {
        let session = it.add_node("object", "Session", 4096);
        it.add_numbered_edge(cache, "element", index, session);
    }
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &it.to_json(&Layout::default()));
    lake.analyze(input).args(["--no-edges", "--snapshot=it"]).assert().success();
    let run = lake.run();
    // The finding is about the cache.
    let why = json("why", &run, &["2"]);
    let path: Vec<&str> =
        why["stored_path"]["steps"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
    assert_eq!(path, ["Shop.cache", "Cache"]);
    let text = ask("why", &run, &["2"]);
    assert!(text.starts_with("Path from a root, as the finding about it has it\n\n  Shop.cache → Cache"), "{text}");
    // No finding is about a single session.
    assert!(json("why", &run, &["5"])["stored_path"].is_null());
}

#[test]
fn why_an_object_is_there() {
    let lake = Lake::new();
    let edges = run(&lake, &["--edges"]);
    // Two paths lead to the second session: the shorter one is shown, and only the dominators on both.
    let why = json("why", &edges, &["4"]);
    assert_eq!(steps(&why["shortest_path"]), [("", "Shop"), (".current", "Session")]);
    assert_eq!(steps(&why["dominators"])[1..], [("", "Shop"), ("", "Session")]);
    let why = json("why", &edges, &["5"]);
    assert_eq!(steps(&why["shortest_path"]), [("", "Shop"), (".cache", "Cache"), ("[2]", "Session")]);
    assert_eq!(why["shortest_path"]["steps"][2]["retained_bytes"], 102);
    let text = ask("why", &edges, &["5"]);
    assert!(text.contains("[2] → Session @") && text.contains("Dominators"), "{text}");
    let id = why["shortest_path"]["steps"][2]["id"].as_u64().unwrap();
    assert_eq!(ask("why", &edges, &[&format!("@{id}")]), text);
    assert_eq!(ask("why", &edges, &[&format!("@{id:#x}")]), text);
    // A long path is shown at both ends.
    let why = json("why", &edges, &["205"]);
    assert_eq!(
        (why["shortest_path"]["steps"].as_array().unwrap().len(), &why["shortest_path"]["left_out"]),
        (60, &141.into())
    );
    assert!(ask("why", &edges, &["205"]).contains("… 141 more …"));
    // Only a weak reference leads to the last node.
    let why = json("why", &edges, &["206"]);
    assert!(why["shortest_path"].is_null() && why["note"].as_str().unwrap().contains("weak"), "{why}");

    let without = run(&lake, &["--no-edges"]);
    let text = ask("why", &without, &["5"]);
    assert!(!text.contains("Shortest path from"), "{text}");
    assert!(text.contains("needs the table of edges"), "{text}");
    // The printed command can be pasted and works.
    let command = text.lines().find_map(|line| line.trim().strip_prefix("heaplake ")).unwrap();
    let script = format!("{} {command} --quiet", env!("CARGO_BIN_EXE_heaplake"));
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success(), "{script}");
    assert!(ask("why", &without, &["5"]).contains("Shortest path from"));
}

#[test]
fn all_that_holds_an_object() {
    let lake = Lake::new();
    let run = run(&lake, &["--edges"]);
    // The second session is in the cache, and the current one.
    let why = json("why", &run, &["4", "-n", "5", "--all"]);
    let paths: Vec<_> = why["paths"].as_array().unwrap().iter().map(steps).collect();
    assert_eq!(paths[0], [("", "Shop"), (".current", "Session")]);
    assert_eq!(paths[1], [("", "Shop"), (".cache", "Cache"), ("[1]", "Session")]);
    assert_eq!(paths.len(), 2);
    let holders = why["holders"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let holders: Vec<_> =
        holders.map(|one| (one["level"].as_u64().unwrap(), text(&one["class"]), text(&one["edge"]))).collect();
    let level = |level: u64| holders.iter().filter(move |one| one.0 == level).map(|one| format!("{}.{}", one.1, one.2));
    assert_eq!(level(1).collect::<Vec<_>>(), ["Shop.current", "Cache.[]"]);
    assert!(level(2).any(|holder| holder == "Shop.cache"), "{holders:?}");
    // The third one has a sole retainer.
    let text = ask("why", &run, &["5", "--all"]);
    assert!(text.contains("Cache[], alone") && text.contains("  Shop.cache, alone"), "{text}");
    assert_eq!(json("why", &run, &["5", "-n", "1"])["paths"].as_array().unwrap().len(), 1);
}

#[test]
fn the_largest_objects() {
    let lake = Lake::new();
    let run = run(&lake, &[]);
    let top = json("top", &run, &["-n", "2"]);
    let objects = top["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!((&objects[0]["class"], &objects[0]["retained_bytes"]), (&"Shop".into(), &1967.into()));
    let top = json("top", &run, &["--class", "Sess*"]);
    let sizes: Vec<u64> =
        top["objects"].as_array().unwrap().iter().map(|object| object["retained_bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [102, 101, 100]);
    assert_eq!(top["objects"][0]["dominators"].as_array().unwrap().last().unwrap()["class"], "Cache");
    let text = ask("top", &run, &["--class", "Item", "-n", "1"]);
    assert!(text.contains("1.6 KiB") && text.contains("Shop"), "{text}");
    // Ignores case if nothing matches otherwise.
    let text = ask("top", &run, &["--class", "session", "--class", "Quux"]);
    assert!(text.contains("102 B") && text.contains("\"session\" matches only without regard to case"), "{text}");
    assert!(text.contains("no class matches \"Quux\""), "{text}");
    let (cause, _) = diagnostic(heaplake().arg("top").arg(&run).args(["--class", "Sesion"]), 2);
    assert!(cause.ends_with("no class matches \"Sesion\"; the nearest: \"Session\""), "{cause}");
}

#[test]
fn what_an_object_holds() {
    let lake = Lake::new();
    let run = run(&lake, &[]);
    let tree = json("dominators", &run, &["2", "--children", "1"]);
    assert_eq!((&tree["class"], &tree["children"][0]["retained_bytes"]), (&"Cache".into(), &102.into()));
    assert_eq!((&tree["others"], &tree["others_retained_bytes"]), (&1.into(), &100.into()));
    let text = ask("dominators", &run, &["2", "--children", "1"]);
    assert!(text.contains("… 1 more that retain 100 B"), "{text}");
    // From the root, to the requested depth.
    let tree = json("dominators", &run, &["--depth", "1"]);
    assert_eq!(tree["node"], 0);
    assert!(tree["children"][0]["children"].as_array().unwrap().is_empty());
    assert_eq!(json("dominators", &run, &["6", "--depth=50"])["children"][0]["children"][0]["class"], "Item");
}

#[test]
fn questions_without_an_answer() {
    let lake = Lake::new();
    let it = run(&lake, &[]);
    let ask = |command: &str, run: PathBuf, subject: &str| {
        let mut heaplake = heaplake();
        heaplake.arg(command).arg(run).arg(subject);
        diagnostic(&mut heaplake, 2)
    };
    assert!(ask("why", it.clone(), "207").0.contains("there is no node 207: the last is 206"));
    assert!(ask("why", it.clone(), "@999999").0.contains("no node has the id 999999"));
    assert!(ask("dominators", lake.path(), "1").0.contains("no run"));
    let bare = run(&lake, &["--tables", "classes"]);
    assert!(ask("why", bare, "1").1.contains("without --tables"));
    let refused = Command::new(env!("CARGO_BIN_EXE_heaplake")).args(["why", "x", "nonsense"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
