//! Original locations of closures and objects, in the sources of their scripts.

use crate::findings::took;
use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::table::Table;
use std::fs;
use std::path::Path;

/// Counts from 1.
fn line_of(source: &Path, text: &str) -> u32 {
    let source = fs::read_to_string(source).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() as u32 + 1
}

#[test]
fn nodes_have_the_places_of_their_sources() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/minified");
    for (bundle, map) in [("esbuild", "app.cjs.map"), ("webpack", "app.js.map"), ("inline", "app.cjs")] {
        let lake = Lake::new();
        let snapshot = lake.folder().join("app.heapsnapshot");
        if !took("node", &[&programs.join(bundle).join("app.cjs"), &snapshot]) {
            return;
        }
        lake.analyze(&snapshot).arg("--symbols").arg(programs.join(bundle)).arg("--memory=80MiB").assert().success();
        let nodes = Table::read(&lake.run(), "nodes.parquet");
        let (files, names) = (nodes.texts("original_file"), nodes.texts("original_name"));
        let (lines, generated) = (nodes.u32s("original_line"), nodes.u32s("line"));
        for (class, file, text, least) in [
            ("CustomSession", "session.ts", "constructor(id: number)", 40),
            ("PriceBook", "legacy.js", "constructor(seed)", 40),
        ] {
            let of_class = |row: &usize| names[*row].as_deref() == Some(class);
            let rows: Vec<usize> = (0..nodes.rows()).filter(of_class).collect();
            assert!(rows.len() >= least, "{bundle}: {} of {class}", rows.len());
            let line = line_of(&programs.join("src").join(file), text) - 1;
            for row in rows {
                assert!(files[row].as_ref().unwrap().ends_with(file), "{bundle}: {:?}", files[row]);
                assert_eq!((lines[row], generated[row].is_some()), (Some(line), true), "{bundle}: {class}");
            }
        }
        let scripts = Table::read(&lake.run(), "scripts.parquet").texts("source_map");
        let used: Vec<&String> = scripts.iter().flatten().collect();
        assert_eq!(used, [map], "{bundle}");
    }
}

#[test]
fn a_damaged_map_is_named_and_left_out() {
    let lake = Lake::new();
    let map = br#"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA;!!"}"#;
    let map = lake.input("app.cjs.map", map);
    let snapshot = heaplake_support::fixtures::v8("s1");
    let mut command = heaplake();
    command.arg("analyze").arg(snapshot).arg("--out").arg(lake.path()).arg("--symbols").arg(map);
    let output = command.arg("--tables=scripts,nodes").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let warning = told.lines().find(|line| line.starts_with("heaplake: warning: ")).unwrap();
    assert!(warning.contains("app.cjs.map: line 1 of its mappings is damaged"), "{warning}");
    assert!(Table::read(&lake.run(), "nodes.parquet").texts("original_file").iter().all(Option::is_none));
}

/// The functions of a call tree have the locations given by their script's map, in an analysis and in a replay.
#[test]
fn functions_of_call_trees_have_their_originals() {
    // `Order(` at 1:19 is from 10:7, `makeOrders(` at 2:32 from 20:3.
    let map =
        br#"{"version":3,"sources":["orders.ts"],"names":["PurchaseOrder","fillOrders"],"mappings":"kBASMA;+BAUJC"}"#;
    let snapshot = heaplake_support::fixtures::v8("alloc20");
    for verb in ["analyze", "replay"] {
        let lake = Lake::new();
        let map = lake.input("alloc_target.cjs.map", map);
        let mut command = heaplake();
        command.args([verb, "--quiet"]).arg(&snapshot).arg("--out").arg(lake.path());
        command.arg("--symbols").arg(map).assert().success();
        let table = Table::read(&lake.run(), "allocation_functions.parquet");
        let (functions, files) = (table.texts("function"), table.texts("original_file"));
        let (names, lines) = (table.texts("original_name"), table.u32s("original_line"));
        let columns = table.u32s("original_column");
        let mut found: Vec<_> = (0..table.rows())
            .filter(|&row| files[row].is_some() || names[row].is_some() || lines[row].is_some())
            .map(|row| (functions[row].clone().unwrap(), names[row].clone().unwrap(), lines[row], columns[row]))
            .collect();
        found.sort();
        let expected = [("Order", "PurchaseOrder", 10, 7), ("makeOrders", "fillOrders", 20, 3)];
        let expected = expected
            .map(|(function, name, line, column)| (function.to_owned(), name.to_owned(), Some(line), Some(column)));
        assert_eq!(found, expected, "{verb}");
        assert!(files.iter().flatten().all(|file| file.ends_with("orders.ts")), "{files:?}");
    }
}
