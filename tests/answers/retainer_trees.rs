//! All holders of big classes, where a map and a plain object hold the same sessions.

use crate::lake::{Lake, heaplake};
use crate::table::Table;
use heaplake_oracle::{Layout, Snapshot};

/// Sessions in a map of a cache and in an object by user; each tenth in a list, too. A list states its elements with
/// its backing store once more.
fn snapshot() -> Snapshot {
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
        let session = it.add_node("object", "Sess", 100);
        it.add_numbered_edge(table, "element", index, session);
        if index > 0 {
            it.add_edge(users, "property", format!("u{index}").as_str(), session);
        }
        if index % 10 == 5 {
            it.add_numbered_edge(list, "element", index, session);
            it.add_numbered_edge(store, "element", index, session);
        }
        // It knows its cache, which does not make it a holder.
        it.add_edge(session, "property", "cache", cache);
    }
    it
}

#[test]
fn a_map_and_an_object_hold_the_same() {
    let lake = Lake::new();
    let input = lake.input("leak.heapsnapshot", &snapshot().to_json(&Layout::default()));
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
    let output = heaplake().arg("show").arg(lake.run()).output().unwrap();
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(summary.contains("100 % held by ") && summary.contains("also held by "), "{summary}");
}

#[test]
fn other_formats_have_trees_too() {
    for file in ["jvm/weakfix.hprof.zst", "jvm/dupfix.hprof.zst"] {
        let lake = Lake::new();
        lake.analyze(crate::fixtures::path("v8/..").join(file)).args(["--min-count", "1"]).assert().success();
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
