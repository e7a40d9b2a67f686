//! Retainer trees of big classes, with sessions in a map and in a plain object.

use crate::findings::analyzed;
use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::lake::{Lake, answer, heaplake, said};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Sessions in a map of a cache and in an object by user; each tenth in a list, too. A list refers to its elements a
/// second time by its backing store.
fn snapshot(size: u64) -> Snapshot {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let global = it.add_node("object", "global", 40);
    it.add_edge(root, "property", "global", global);
    let cache = it.add_node("object", "Cache", 24);
    let map = it.add_node("object", "Map", 32);
    let table = it.add_node("array", "", 24_000);
    let users = it.add_node("object", "Users", 64);
    let list = it.add_node("object", "Recent", 32);
    let store = it.add_node("array", "", 2400);
    it.add_edge(global, "property", "cache", cache);
    it.add_edge(cache, "property", "entries", map);
    it.add_edge(map, "internal", "table", table);
    it.add_edge(global, "property", "byUser", users);
    it.add_edge(global, "property", "recent", list);
    it.add_edge(list, "internal", "elements", store);
    for index in 0..3000 {
        let session = it.add_node("object", "Sess", size);
        it.add_numbered_edge(table, "element", index, session);
        if index > 0 {
            it.add_edge(users, "property", format!("u{index}").as_str(), session);
        }
        if index % 10 == 5 {
            it.add_numbered_edge(list, "element", index, session);
            it.add_numbered_edge(store, "element", index, session);
        }
        // It refers to its cache, which is not thereby a retainer.
        it.add_edge(session, "property", "cache", cache);
    }
    it
}

#[test]
fn a_map_and_an_object_hold_the_same() {
    let lake = Lake::new();
    let input = lake.input("leak.heapsnapshot", &snapshot(100).to_json(&Layout::default()));
    lake.analyze(input).assert().success();
    let table = Table::read(&lake.run(), "retainer_trees.parquet");
    let (class, text) = (table.texts("class"), table.texts("text"));
    let (count, alone) = (table.u64s("count"), table.u64s("exclusive_count"));
    let (level, cut) = (table.u32s("level"), table.bools("is_cut"));
    let of_sessions = (0..table.rows()).filter(|&row| class[row].as_deref() == Some("Sess"));
    let rows: Vec<_> = of_sessions
        .map(|row| (level[row].unwrap(), text[row].clone().unwrap(), count[row].unwrap(), alone[row].unwrap()))
        .collect();
    let has = |level, text: &str, count, alone| rows.contains(&(level, text.to_owned(), count, alone));
    assert!(has(1, "(array)[] → Sess", 3000, 1), "{rows:?}");
    assert!(has(1, "Users(any) → Sess", 2999, 0), "{rows:?}");
    assert!(has(1, "Recent[] → Sess", 300, 0), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.0 == 1).count(), 3, "the backing store says nothing new: {rows:?}");
    assert!(has(2, "Map.table → (array)[] → Sess", 3000, 1), "{rows:?}");
    assert!(has(4, "global.cache → Cache.entries → Map.table → (array)[] → Sess", 3000, 1), "{rows:?}");
    assert!(has(2, "global.byUser → Users(any) → Sess", 2999, 0), "{rows:?}");
    assert!(cut.iter().all(|cut| *cut == Some(false)), "{rows:?}");
    let summary = said(heaplake().arg("show").arg(lake.run()));
    assert!(summary.contains("100 % held by ") && summary.contains("also held by "), "{summary}");
}

#[test]
fn a_finding_names_both_holders() {
    let lake = Lake::new();
    let input = lake.input("leak.heapsnapshot", &snapshot(4000).to_json(&Layout::default()));
    let (run, findings) = analyzed(&lake, &input);
    let messages: Vec<&str> = findings.iter().map(|one| one["message"].as_str().unwrap()).collect();
    let both = |message: &str| {
        message.starts_with("One Users @") && message.contains(" holds 2,999 Sess objects, ") && message.contains(
            "Of 3,000 Sess, also held by global.cache → Cache.entries → Map.table → (array)[] → Sess (100 %, 1 by nothing else)",
        )
    };
    assert!(messages.iter().any(|message| both(message)), "{messages:#?}");
    let table = Table::read(&run, "findings.parquet");
    assert!(table.texts("message").iter().flatten().any(|message| both(message)));
}

/// `why --all` for a node: level, class, edge and whether the branch retains it alone.
fn holders(run: &Path, node: usize) -> Vec<(u64, String, String, bool)> {
    let answer = answer(heaplake().arg("why").arg(run).arg(node.to_string()).args(["--all", "--json"]));
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let one =
        |one: &Value| (one["level"].as_u64().unwrap(), text(&one["class"]), text(&one["edge"]), one["alone"] == true);
    answer["holders"].as_array().unwrap().iter().map(one).collect()
}

/// Direct retainers of a node in the table of edges.
fn holding(run: &Path, node: usize) -> BTreeSet<u32> {
    let edges = Table::read(run, "edges.parquet");
    let (from, to, essential) = (edges.u32s("from"), edges.u32s("to"), edges.bools("essential"));
    let is_it = |&row: &usize| to[row] == Some(node as u32) && essential[row] == Some(true) && from[row] != to[row];
    (0..edges.rows()).filter(is_it).map(|row| from[row].unwrap()).collect()
}

#[test]
fn walks_and_dumps_have_trees_and_all_holders() {
    for file in
        ["dotnet/net8_exact.log.zst", "dotnet/both.nettrace.zst", "jvm/weakfix.hprof.zst", "jvm/dupfix.hprof.zst"]
    {
        let (_lake, run) = Lake::of(heaplake_support::fixtures::path(file), &["--min-count", "1", "--edges"]);
        let nodes = Table::read(&run, "nodes.parquet");
        let (ids, classes) = (nodes.u32s("class_id"), nodes.texts("class"));
        let (reachable, dominators) = (nodes.bools("reachable"), nodes.u32s("dominator"));
        let trees = Table::read(&run, "retainer_trees.parquet");
        let (of, level, kind) = (trees.u32s("class_id"), trees.u32s("level"), trees.texts("kind"));
        let (count, holder_class) = (trees.u64s("count"), trees.texts("holder_class"));
        let mut single = 0;
        // Classes with one object: the class's tree begins like the object's, and agrees with the table of edges.
        let of_one = |class: u32| ids.iter().filter(|one| **one == Some(class)).count() == 1;
        let big: BTreeSet<u32> = of.iter().flatten().copied().filter(|&class| of_one(class)).take(12).collect();
        for class in big {
            let node = ids.iter().position(|one| *one == Some(class)).unwrap();
            let found = holders(&run, node);
            let mut direct: BTreeSet<String> =
                found.iter().filter(|one| one.0 == 1 && !one.1.is_empty()).map(|one| one.1.clone()).collect();
            let by_edges: BTreeSet<String> =
                holding(&run, node).into_iter().map(|from| classes[from as usize].clone().unwrap()).collect();
            assert!(!direct.is_empty() && direct.is_subset(&by_edges), "{file}, node {node}: {found:?} {by_edges:?}");
            let rows = (0..trees.rows()).filter(|&row| of[row] == Some(class) && level[row] == Some(1));
            for row in rows.filter(|&row| kind[row].as_deref() != Some("rest")) {
                assert_eq!(count[row], Some(1), "{file}, row {row}");
                assert!(by_edges.contains(holder_class[row].as_ref().unwrap()), "{file}, row {row}");
            }
            // A sole retainer that is one object dominates it.
            if reachable[node] == Some(true)
                && found.iter().filter(|one| one.0 == 1).count() == 1
                && holding(&run, node).len() == 1
            {
                assert!(found[0].3, "{file}, node {node}: {found:?}");
                let above = classes[dominators[node].unwrap() as usize].clone().unwrap();
                assert!(direct.remove(&above), "{file}, node {node}: {found:?} {above}");
                single += 1;
            }
        }
        assert!(single > 0, "{file}");
    }
}

#[test]
fn other_formats_have_trees_too() {
    for file in ["jvm/weakfix.hprof.zst", "jvm/dupfix.hprof.zst"] {
        let lake = Lake::new();
        lake.analyze(heaplake_support::fixtures::path("v8/..").join(file))
            .args(["--min-count", "1"])
            .assert()
            .success();
        let table = Table::read(&lake.run(), "retainer_trees.parquet");
        let (parent, level) = (table.u32s("parent"), table.u32s("level"));
        let (count, alone) = (table.u64s("count"), table.u64s("exclusive_count"));
        let edges = table.texts("edge");
        assert!(table.rows() > 20 && edges.iter().flatten().any(|edge| edge.starts_with(char::is_lowercase)), "{file}");
        for row in 0..table.rows() {
            assert!(alone[row] <= count[row], "{file}, row {row}");
            match parent[row] {
                None => assert_eq!(level[row], Some(1), "{file}, row {row}"),
                Some(above) => {
                    let above = above as usize;
                    assert!(above < row && level[row] == level[above].map(|level| level + 1), "{file}, row {row}");
                    assert!(count[row] <= count[above] && alone[row] <= alone[above], "{file}, row {row}");
                }
            }
        }
    }
}
