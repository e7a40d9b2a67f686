//! `heaplake what-if`: what goes without some references, on a planted graph and on real heaps.

use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake, said};
use heaplake_support::table::Table;
use serde_json::{Value, json};
use std::path::Path;

fn ask(run: &Path, cuts: &[&str]) -> Value {
    let mut command = heaplake();
    command.arg("what-if").arg(run).arg("--json");
    command.args(cuts.iter().flat_map(|cut| ["--cut", cut]));
    answer(&mut command)
}

/// A thousand sessions of 100 bytes in a map of a cache and in an object by user; each tenth in a list, too, and the first
/// in the map alone.
fn sessions() -> Snapshot {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let global = it.add_node("object", "global", 40);
    it.add_edge(root, "property", "global", global);
    let cache = it.add_node("object", "Cache", 24);
    let map = it.add_node("object", "Map", 32);
    let table = it.add_node("array", "", 8000);
    let users = it.add_node("object", "Users", 64);
    let list = it.add_node("object", "Recent", 32);
    it.add_edge(global, "property", "cache", cache);
    it.add_edge(cache, "property", "entries", map);
    it.add_edge(map, "internal", "table", table);
    it.add_edge(global, "property", "byUser", users);
    it.add_edge(global, "property", "recent", list);
    for index in 0..1000 {
        let session = it.add_node("object", "Session", 100);
        it.add_numbered_edge(table, "element", index, session);
        if index > 0 {
            it.add_edge(users, "property", format!("u{index}").as_str(), session);
        }
        if index % 10 == 5 {
            it.add_numbered_edge(list, "element", index, session);
        }
        // It refers to its cache, which does not thereby stay.
        it.add_edge(session, "property", "cache", cache);
    }
    it
}

#[test]
fn planted_references() {
    let lake = Lake::new();
    let input = lake.input("heap.heapsnapshot", &sessions().to_json(&Layout::default()));
    lake.analyze(input).assert().success();
    let run = lake.run();
    let cuts = ["Cache.entries", "Users.u*", "global.byUser", "Recent[]", "(array)[]"];
    let answer = ask(&run, &cuts);
    assert_eq!(answer["heap_bytes"], 40 + 24 + 32 + 8000 + 64 + 32 + 100_000);
    let of = |at: usize, name: &str| answer["cuts"][at][name].as_u64().unwrap();
    let freed: Vec<_> = (0..cuts.len()).map(|at| (of(at, "references"), of(at, "freed_bytes"))).collect();
    assert_eq!(freed, [(1, 8132), (999, 0), (1, 64), (100, 0), (1000, 100)]);
    // All but the cache, which all sessions would hold, and what has no cut.
    let together = &answer["together"];
    assert_eq!(together["freed_bytes"], 32 + 8000 + 64 + 100_000, "{together}");
    assert_eq!((&together["references"], &together["kept"]), (&2101.into(), &json!([])), "{together}");
    // What stays of the map, and who keeps it.
    let kept = &answer["cuts"][0]["kept"];
    assert_eq!(kept.as_array().unwrap().len(), 1, "{kept}");
    assert_eq!(
        (&kept[0]["class"], &kept[0]["objects"], &kept[0]["retained_bytes"]),
        (&"Session".into(), &999.into(), &99_900.into())
    );
    let holders: Vec<_> = kept[0]["holders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|holder| (holder["class"].as_str().unwrap(), holder["edge"].as_str(), holder["references"].as_u64()))
        .collect();
    assert_eq!(holders, [("Users", Some("*"), Some(999)), ("Recent", Some("[]"), Some(100))]);
    let text = said(heaplake().arg("what-if").arg(&run).args(["--cut", "Cache.entries"]));
    assert!(text.contains("Without Cache.entries (1 reference to 1 object): 3 objects less, 7.9 KiB"), "{text}");
    assert!(text.contains("held by Users.* (references: 999;"), "{text}");
}

/// Also where a field has the name of V8's reference to the shape of an object.
#[test]
fn a_field_named_map_is_a_field() {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let global = it.add_node("object", "global", 40);
    it.add_edge(root, "property", "global", global);
    let [set, list, kept] = ["HashSet", "Recent", "Store"].map(|class| it.add_node("object", class, 50));
    it.add_edge(global, "property", "set", set);
    it.add_edge(global, "property", "list", list);
    it.add_edge(set, "property", "map", kept);
    it.add_edge(list, "property", "store", kept);
    let lake = Lake::new();
    let input = lake.input("heap.heapsnapshot", &it.to_json(&Layout::default()));
    lake.analyze(input).assert().success();
    for cut in ["HashSet.map", "global.set"] {
        let answer = ask(&lake.run(), &[cut]);
        assert_eq!(answer["cuts"][0]["kept"][0]["class"], "Store", "{answer}");
    }
}

#[test]
fn wrong_cuts_name_what_is_there() {
    let lake = Lake::new();
    let input = lake.input("heap.heapsnapshot", &sessions().to_json(&Layout::default()));
    lake.analyze(&input).assert().success();
    let run = lake.run();
    let wrong = |cut: &str, code| diagnostic(heaplake().arg("what-if").arg(&run).args(["--cut", cut]), code).0;
    for (cut, expected) in [
        ("Cache.entrys", "the nearest: entries"),
        ("Cach.entries", "the nearest: \"Cache\""),
        ("Session[]", "there are cache"),
        ("@999999999", "no node has the id"),
        ("99999", "the last is"),
    ] {
        let cause = wrong(cut, 2);
        assert!(cause.contains(expected), "{cut}: {cause}");
    }
    let mut many = heaplake();
    many.arg("what-if").arg(&run);
    many.args(["--cut", "Cache.entries"].repeat(63));
    assert!(diagnostic(&mut many, 2).0.contains("63 cuts are too many"));
    lake.analyze(&input).args(["--force", "--tables", "nodes"]).assert().success();
    let (cause, advice) = diagnostic(heaplake().arg("what-if").arg(lake.run()).args(["--cut", "Cache.entries"]), 2);
    assert!(cause.contains("no table of edges") && advice.contains("--edges"), "{cause} {advice}");
}

/// Without all references to an object, exactly what it retains goes: the definition of retained size.
#[test]
fn without_an_object_what_it_retains_goes() {
    for file in [
        "v8/s1.heapsnapshot.zst",
        "v8/chromium_dom.heapsnapshot.zst",
        "jvm/dupfix.hprof.zst",
        "jvm/weakfix.hprof.zst",
        "dotnet/net8_exact.log.zst",
    ] {
        let (_lake, run) = Lake::of(fixtures::path(file), &["--edges"]);
        let nodes = Table::read(&run, "nodes.parquet");
        let (retained, reachable) = (nodes.u64s("retained_bytes"), nodes.bools("reachable"));
        let (edges, mut has_retainer) = (Table::read(&run, "edges.parquet"), vec![false; nodes.rows()]);
        let (from, to, essential) = (edges.u32s("from"), edges.u32s("to"), edges.bools("essential"));
        for row in (0..edges.rows()).filter(|&row| essential[row] == Some(true) && from[row] != to[row]) {
            has_retainer[to[row].unwrap() as usize] = true;
        }
        // The largest ones, and some of all sizes.
        let mut chosen: Vec<usize> =
            (0..nodes.rows()).filter(|&row| reachable[row] == Some(true) && has_retainer[row]).collect();
        chosen.sort_by_key(|&row| std::cmp::Reverse(retained[row]));
        let step = (chosen.len() / 42).max(1);
        let chosen: Vec<usize> =
            chosen.iter().take(20).chain(chosen.iter().skip(20).step_by(step)).copied().take(62).collect();
        let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
        let answer = ask(&run, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let root = nodes.u32s("dominator").iter().zip(0..).position(|(above, row)| *above == Some(row)).unwrap();
        assert_eq!(answer["heap_bytes"].as_u64(), retained[root], "{file}");
        for (at, &row) in chosen.iter().enumerate() {
            let freed = &answer["cuts"][at];
            assert_eq!(freed["freed_bytes"].as_u64(), retained[row], "{file}, node {row}: {freed}");
            assert_eq!(freed["kept"].as_array().unwrap().iter().filter(|kept| kept["objects"] == 0).count(), 0);
        }
    }
}
