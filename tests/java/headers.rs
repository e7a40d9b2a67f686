//! Sizes of objects against the virtual machine's own count (`GC.class_histogram`).
//!
//! Dumps of JDK 25, with compact object headers and without, made as described in `Headers.java`.

use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// Number of objects and their bytes by class.
type Histogram = BTreeMap<String, [u64; 2]>;

/// The virtual machine's count, with names as in Java.
fn counted(name: &str) -> Histogram {
    let text = fixtures::text(&format!("jvm/headers-{name}.jvm.histogram.csv"));
    let line = |line: &str| {
        let cells: Vec<&str> = line.rsplitn(3, ',').collect();
        (java_name(cells[2]), [cells[1], cells[0]].map(|cell| cell.parse().unwrap()))
    };
    text.lines().skip(1).map(line).collect()
}

/// `[[I` is `int[][]`, `[Lapp.Node;` is `app.Node[]`.
fn java_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let depth = name.len() - element.len();
    let element = match element.strip_prefix('L').and_then(|class| class.strip_suffix(';')) {
        _ if depth == 0 => element,
        Some(class) => class,
        None => match element {
            "B" => "byte",
            "C" => "char",
            "D" => "double",
            "F" => "float",
            "I" => "int",
            "J" => "long",
            "S" => "short",
            "Z" => "boolean",
            other => panic!("no type {other}"),
        },
    };
    element.to_owned() + &"[]".repeat(depth)
}

/// All objects of a run, garbage included, as the virtual machine counts them.
fn analyzed(run: &Path) -> Histogram {
    let nodes = Table::read(run, "nodes.parquet");
    let (kinds, classes) = (nodes.texts("kind"), nodes.texts("class"));
    let (ids, sizes) = (nodes.u64s("id"), nodes.u64s("shallow_bytes"));
    let mut all = Histogram::new();
    for row in 0..nodes.rows() {
        // The root, and MAT's placeholder of the boot loader.
        if kinds[row].as_deref() == Some("root") || ids[row] == Some(0) {
            continue;
        }
        let sums = all.entry(classes[row].clone().unwrap()).or_default();
        *sums = [sums[0] + 1, sums[1] + sizes[row].unwrap()];
    }
    all
}

fn analyze(name: &str, options: &[&str]) -> (Lake, Histogram) {
    let lake = Lake::new();
    lake.analyze(fixtures::path(&format!("jvm/headers-{name}.hprof.zst"))).args(options).assert().success();
    let histogram = analyzed(&lake.run());
    (lake, histogram)
}

fn check(name: &str, options: &[&str]) {
    let (_lake, ours) = analyze(name, options);
    let theirs = counted(name);
    assert!(theirs.len() > 200, "{name}");
    let classes = ours.keys().chain(theirs.keys());
    let wrong: Vec<_> = classes
        .filter(|class| ours.get(*class) != theirs.get(*class))
        .map(|class| format!("{class}: {:?}, JVM {:?}", ours.get(class), theirs.get(class)))
        .collect();
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
}

#[test]
fn compact_headers_show_in_addresses() {
    for name in ["compact", "compact16", "compact-wide"] {
        check(name, &[]);
        check(name, &["--sizes", "jvm"]);
    }
}

#[test]
fn sizes_without_compact_headers_are_those_of_the_jvm_where_that_is_asked() {
    check("narrow", &["--sizes", "jvm"]);
}

#[test]
fn the_rule_of_mat_is_an_option_and_the_default_without_compact_headers() {
    let bytes = |histogram: &Histogram, class: &str| histogram[class][1] / histogram[class][0];
    for (name, node, object) in [("compact", 24, 8), ("compact16", 32, 16), ("compact-wide", 40, 8)] {
        let (lake, jvm) = analyze(name, &[]);
        let (_other, mat) = analyze(name, &["--sizes", "mat"]);
        let both = [&jvm, &mat].map(|of| [bytes(of, "java.util.HashMap$Node"), bytes(of, "java.lang.Object")]);
        let wide = name.ends_with("wide");
        let expected = if wide { [48, 16] } else { [32, 16] };
        assert_eq!(both, [[node, object], expected], "{name}");
        // The chosen rule is reported.
        let run: serde_json::Value =
            serde_json::from_slice(&std::fs::read(lake.run().join("run.json")).unwrap()).unwrap();
        assert!(run.to_string().contains("headers are compact"), "{run}");
    }
    let (lake, auto) = analyze("narrow", &[]);
    let (_other, mat) = analyze("narrow", &["--sizes", "mat"]);
    assert_eq!(auto, mat);
    let options = Table::read(&lake.run(), "snapshot.parquet").texts("options");
    assert!(options[0].as_ref().unwrap().contains(r#""sizes":"auto""#), "{options:?}");
}
