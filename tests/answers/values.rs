//! The table of values, and `heaplake object`, against other tables.

use super::duplicate_sets::sets;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake, said};
use heaplake_support::table::Table;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: Option<String>,
    index: Option<u32>,
    kind: String,
    value: Option<String>,
    to: Option<u32>,
}

fn values(run: &Path) -> BTreeMap<u32, Vec<Row>> {
    let table = Table::read(run, "values.parquet");
    let (nodes, positions, to) = (table.u32s("node"), table.u32s("position"), table.u32s("to"));
    let (names, kinds, texts) = (table.texts("name"), table.texts("kind"), table.texts("value"));
    let indexes = table.u32s("index");
    let mut rows: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for at in 0..table.rows() {
        let node = rows.entry(nodes[at].unwrap()).or_default();
        assert_eq!(positions[at], Some(node.len() as u32));
        node.push(Row {
            name: names[at].clone(),
            index: indexes[at],
            kind: kinds[at].clone().unwrap(),
            value: texts[at].clone(),
            to: to[at],
        });
    }
    assert!(nodes.is_sorted());
    rows
}

fn analyzed(input: &str, options: &[&str]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    lake.analyze(fixtures::path(input)).args(["--values"]).args(options).assert().success();
    let run = lake.run();
    (lake, run)
}

/// A text as the table cuts it.
fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(120).collect();
    while shown.len() > 160 {
        shown.pop();
    }
    if shown.len() < text.len() { shown + "…" } else { shown }
}

type Edge = (Option<String>, Option<u32>, u32);

/// The edges with a row, by node.
fn edges(run: &Path, most: usize) -> BTreeMap<u32, Vec<Edge>> {
    let table = Table::read(run, "edges.parquet");
    let (from, to, kinds) = (table.u32s("from"), table.u32s("to"), table.texts("kind"));
    let (names, indexes) = (table.texts("name"), table.u32s("index"));
    let mut edges: BTreeMap<u32, Vec<(String, Edge)>> = BTreeMap::new();
    for at in 0..table.rows() {
        let edge = (names[at].clone(), indexes[at], to[at].unwrap());
        edges.entry(from[at].unwrap()).or_default().push((kinds[at].clone().unwrap(), edge));
    }
    let kept = |(_, list): (u32, Vec<(String, Edge)>)| {
        let shown = list.into_iter().take(most).filter(|(kind, _)| !["weak", "shortcut"].contains(&&**kind));
        shown.map(|(_, edge)| edge).collect()
    };
    edges.into_iter().map(|(node, list)| (node, kept((node, list)))).collect()
}

#[test]
fn v8_has_texts_edges_and_captured_numbers() {
    let (_lake, run) = analyzed("v8/node24_numeric.heapsnapshot.zst", &["--edges"]);
    let (values, edges) = (values(&run), edges(&run, 256));
    let nodes = Table::read(&run, "nodes.parquet");
    let (kinds, names) = (nodes.texts("kind"), nodes.texts("name"));
    let is_text = |node: u32| kinds[node as usize].as_ref().unwrap().ends_with("string");
    let name = |node: u32| cut(names[node as usize].as_ref().unwrap());
    let mut numbers = 0;
    for node in 0..nodes.rows() as u32 {
        let rows = values.get(&node).cloned().unwrap_or_default();
        let texts: Vec<&Row> = rows.iter().filter(|row| row.kind == "text").collect();
        assert_eq!(texts.len(), usize::from(is_text(node)));
        assert!(texts.iter().all(|row| row.value.as_deref() == Some(&*name(node))));
        let found: Vec<Edge> = rows.iter().filter_map(|row| Some((row.name.clone(), row.index, row.to?))).collect();
        assert_eq!(found, edges.get(&node).cloned().unwrap_or_default(), "node {node}");
        for row in rows.iter().filter(|row| row.to.is_some()) {
            let to = row.to.unwrap();
            match (row.kind.as_str(), kinds[to as usize].as_deref().unwrap()) {
                ("number", "number") => {
                    // The number refers to its text.
                    let text = &edges[&to].iter().find(|(name, ..)| name.as_deref() == Some("value")).unwrap().2;
                    assert_eq!(row.value.as_deref(), Some(&*name(*text)));
                    numbers += usize::from(row.value.as_ref().unwrap().parse::<f64>().is_ok());
                }
                ("reference", _) if is_text(to) => assert_eq!(row.value.as_deref(), Some(&*name(to))),
                ("reference", kind) => assert!(row.value.is_none() && kind != "number"),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(numbers > 1000, "{numbers}");
}

/// In an exact set no value differs, except for references to members of one set.
fn members_are_alike(run: &Path, least: usize) {
    let values = values(run);
    let sets_of = Table::read(run, "nodes.parquet").u32s("duplicate_set");
    let none = Vec::new();
    let of = |node: u32| values.get(&node).unwrap_or(&none);
    let mut compared = 0;
    for set in sets(run).iter().filter(|set| set.status == "exact") {
        let first = of(set.members[0]);
        for member in &set.members[1..] {
            let other = of(*member);
            assert_eq!(first.len(), other.len(), "{set:?}");
            for (a, b) in first.iter().zip(other) {
                assert_eq!((&a.name, a.index, &a.kind, &a.value), (&b.name, b.index, &b.kind, &b.value), "{set:?}");
                let set_of = |to: Option<u32>| to.and_then(|to| sets_of[to as usize]);
                assert!(
                    a.to == b.to || (set_of(a.to).is_some() && set_of(a.to) == set_of(b.to)),
                    "{set:?} {a:?} {b:?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > least, "{compared}");
}

#[test]
fn members_of_exact_sets_of_java_contain_the_same() {
    for input in ["jvm/dupfix.hprof.zst", "jvm/weakfix.hprof.zst"] {
        let (_lake, run) = analyzed(input, &["--duplicates", "all"]);
        members_are_alike(&run, 500);
    }
}

/// The first fields of an object in its preview: `Point{x: 1, y: 2}`.
fn previewed(preview: &str) -> Option<Vec<(&str, &str)>> {
    let (head, fields) = preview.strip_suffix('}')?.split_once('{')?;
    if head.ends_with(']') {
        // Elements of an array have no names.
        return None;
    }
    fields.trim_end_matches(", …").split(", ").map(|field| field.split_once(": ")).collect()
}

#[test]
fn java_has_all_fields_and_elements() {
    let (_lake, run) = analyzed("jvm/dupfix.hprof.zst", &["--edges", "--duplicates", "all"]);
    let (values, edges) = (values(&run), edges(&run, usize::MAX));
    let mut checked = 0;
    for set in sets(&run) {
        let rows = values.get(&set.members[0]).cloned().unwrap_or_default();
        // In the same order: a field can hide a superclass's field of the same name.
        let fields = set.preview.as_deref().and_then(previewed).unwrap_or_default();
        assert!(fields.len() <= rows.len(), "{set:?} {rows:?}");
        for ((name, value), row) in fields.into_iter().zip(&rows) {
            // Previews cut long names.
            let whole = row.name.as_deref().unwrap_or_else(|| panic!("{name} of {set:?}: {rows:?}"));
            assert!(whole.starts_with(name.trim_end_matches('…')), "{set:?} {rows:?}");
            if !["reference", "address"].contains(&row.kind.as_str()) {
                let shown = row.value.as_deref().unwrap_or("null");
                assert_eq!(shown, value, "{name} of {set:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
    // References of instances and arrays are edges, in any order.
    let kinds = Table::read(&run, "nodes.parquet").texts("kind");
    for (&node, rows) in values.iter().filter(|(node, _)| kinds[**node as usize].as_deref() == Some("object array")) {
        let length: usize =
            rows.iter().find(|row| row.kind == "length").and_then(|row| row.value.as_ref()).unwrap().parse().unwrap();
        let elements: Vec<&Row> = rows.iter().filter(|row| row.index.is_some()).collect();
        assert_eq!(elements.len(), length.min(256), "node {node}");
        assert_eq!(rows.iter().any(|row| row.kind == "more"), length > 256);
        let edges: BTreeMap<u32, u32> =
            edges.get(&node).into_iter().flatten().filter_map(|(_, index, to)| Some(((*index)?, *to))).collect();
        for element in elements {
            assert_eq!(element.to, edges.get(&element.index.unwrap()).copied(), "node {node} {element:?}");
        }
    }
}

fn ask(run: &Path, words: &[&str]) -> String {
    said(heaplake().arg("object").arg(run).args(words))
}

#[test]
fn members_are_shown_side_by_side() {
    let (_lake, run) = analyzed("jvm/dupfix.hprof.zst", &["--duplicates", "all"]);
    let sets = sets(&run);
    let is_wanted = |set: &super::duplicate_sets::Set| {
        let fields = set.preview.as_deref().and_then(previewed).unwrap_or_default();
        set.status == "exact" && !set.trivial && set.members.len() > 2 && fields.iter().any(|(_, value)| *value == "0")
    };
    let at = sets.iter().position(is_wanted).unwrap();
    let json: Json = serde_json::from_str(&ask(&run, &["--set", &at.to_string(), "--json"])).unwrap();
    let shown: Vec<u64> = json["objects"].as_array().unwrap().iter().map(|row| row["node"].as_u64().unwrap()).collect();
    assert_eq!(shown, sets[at].members[..3].iter().map(|&node| u64::from(node)).collect::<Vec<_>>());
    assert_eq!(json["others"], sets[at].members.len() - 3);
    let fields = json["fields"].as_array().unwrap();
    assert!(!fields.is_empty() && fields.iter().all(|field| field["same"] == true), "{json}");
    let text = ask(&run, &["--set", &at.to_string()]);
    assert!(text.contains("No field differs") && text.contains("#3"), "{text}");
    // Any two objects; those of different sets differ.
    let [a, b] = [&sets[at], &sets[if at == 0 { 1 } else { 0 }]].map(|set| set.members[0].to_string());
    let text = ask(&run, &[&a, &b]);
    assert!(text.contains("* differs") && text.lines().any(|line| line.starts_with("* ")), "{text}");
    assert!(ask(&run, &[&a]).lines().count() > fields.len());
    let (cause, _) = diagnostic(heaplake().arg("object").arg(&run).args(["--set", "999999"]), 2);
    assert!(cause.contains("no set 999999"), "{cause}");
}

#[test]
fn values_are_read_later_from_the_same_input_only() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/small.heapsnapshot"));
    lake.analyze(&input).assert().success();
    let run = lake.run();
    assert!(!run.join("values.parquet").exists(), "only on request");
    let before = fs::read(run.join("duplicate_sets.parquet")).unwrap();
    let (cause, advice) = diagnostic(heaplake().arg("object").arg(&run).arg("5"), 2);
    assert!(cause.ends_with("this run has no table of values"), "{cause}");
    // The advice contains a command ready to paste.
    let command = advice.split_once(": heaplake ").unwrap().1.to_owned();
    let script = format!("\"$0\" {command} --quiet");
    let shell = |script: &str| {
        std::process::Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_heaplake")]).output().unwrap()
    };
    fs::rename(&input, input.with_extension("away")).unwrap();
    let output = shell(&script);
    assert!(String::from_utf8_lossy(&output.stderr).contains("its input is gone"), "{output:?}");
    fs::write(&input, fixtures::content("v8/s1.heapsnapshot")).unwrap();
    let output = shell(&script);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not what it was made from"), "{output:?}");
    fs::rename(input.with_extension("away"), &input).unwrap();
    let output = shell(&script);
    assert!(output.status.success(), "{output:?}");
    assert!(ask(&run, &["5"]).contains("node 5"));
    assert_eq!(fs::read(run.join("duplicate_sets.parquet")).unwrap(), before, "the search for duplicates is the same");
}

#[test]
fn walks_have_no_values() {
    let (_lake, run) = analyzed("dotnet/heap8_2.nettrace.zst", &[]);
    assert!(!run.join("values.parquet").exists());
    let (_, advice) = diagnostic(heaplake().arg("object").arg(&run).arg("5"), 2);
    assert!(advice.contains("its format has no values"), "{advice}");
}
