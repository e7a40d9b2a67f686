//! Real snapshots against Chrome DevTools' own worker: every node, every class row.
//!
//! Snapshots of Node 20 and 24 (plain, with allocation tracking, with captured numbers, with odd names) and of Chromium
//! (windows, detached trees, contexts without user roots). benches/peers makes more of both.

use heaplake::engine::admission::smallest_budget;
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;

/// Class keys with rows lost by DevTools: an object is named like a class that DevTools makes up, and the row of one
/// overwrites that of the other. heaplake merges them.
const LOST_ROWS: [&str; 4] = [",(string)", ",(system)", ",Function", ",RegExp"];

struct Golden {
    columns: BTreeMap<String, usize>,
    rows: Vec<Vec<String>>,
}

impl Golden {
    fn read(name: &str) -> Self {
        let text = String::from_utf8_lossy(&fixtures::content(&format!("v8/{name}"))).into_owned();
        let mut lines = text.split('\n').filter(|line| !line.is_empty());
        let header = lines.next().unwrap();
        Self {
            columns: header.split('\t').enumerate().map(|(i, column)| (column.to_owned(), i)).collect(),
            rows: lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect(),
        }
    }

    fn numbers(&self, column: &str) -> Vec<i64> {
        let at = self.columns[column];
        self.rows.iter().map(|row| row[at].parse().unwrap()).collect()
    }

    fn texts(&self, column: &str) -> Vec<&str> {
        let at = self.columns[column];
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }
}

fn signed<T: TryInto<i64>>(values: Vec<Option<T>>) -> Vec<i64> {
    // DevTools' mark for no distance.
    values.into_iter().map(|value| value.map_or(-5, |value| value.try_into().ok().unwrap())).collect()
}

/// Analyses a fixture with these options and compares everything.
fn check(name: &str, options: &[&str]) {
    let (_lake, run) = Lake::of(fixtures::v8(name), options);
    check_nodes(name, &Table::read(&run, "nodes.parquet"));
    check_classes(name, &Table::read(&run, "classes.parquet"));
}

fn check_nodes(name: &str, nodes: &Table) {
    let golden = Golden::read(&format!("{name}.devtools.tsv"));
    assert_eq!(nodes.rows(), golden.rows.len(), "{name}: nodes");
    let compare = |column: &str, ours: Vec<i64>, theirs: &str| {
        let theirs = golden.numbers(theirs);
        let differences: Vec<_> =
            ours.iter().zip(&theirs).enumerate().filter(|(_, (ours, theirs))| ours != theirs).collect();
        assert!(differences.is_empty(), "{name}: {column} of {} nodes: {:?}", differences.len(), &differences[..1]);
    };
    compare("node", signed(nodes.u32s("node")), "ordinal");
    compare("id", signed(nodes.u64s("id")), "id");
    compare("shallow_bytes", signed(nodes.u64s("shallow_bytes")), "self_size");
    compare("retained_bytes", signed(nodes.u64s("retained_bytes")), "retained_size");
    compare("distance", signed(nodes.i32s("distance")), "distance");
    compare("dominator", signed(nodes.u32s("dominator")), "dominator_ordinal");
    compare("detachedness", signed(nodes.u8s("detachedness")), "detachedness");
    if nodes.u32s("trace_node").iter().any(Option::is_some) {
        compare("trace_node", signed(nodes.u32s("trace_node")), "trace_node_id");
    }
    let kinds = nodes.texts("kind");
    assert!(kinds.iter().zip(golden.texts("type")).all(|(ours, theirs)| ours.as_deref() == Some(theirs)), "{name}");
}

/// Count, shallow bytes, retained bytes and distance by class key.
type Rows = BTreeMap<String, [i64; 4]>;

fn check_classes(name: &str, classes: &Table) {
    let golden = Golden::read(&format!("{name}.devtools.tsv.classes"));
    let keys = golden.texts("class_key");
    let numbers = ["count", "self", "maxRet", "distance"].map(|column| golden.numbers(column));
    let mut theirs: Rows =
        keys.iter().enumerate().map(|(row, key)| (unquote(key), std::array::from_fn(|i| numbers[i][row]))).collect();
    let numbers = [
        signed(classes.u64s("count")),
        signed(classes.u64s("shallow_bytes")),
        signed(classes.u64s("retained_bytes")),
        signed(classes.i32s("distance")),
    ];
    let keys = classes.texts("class_key");
    let mut ours: Rows = keys
        .into_iter()
        .enumerate()
        .map(|(row, key)| (key.unwrap(), std::array::from_fn(|i| numbers[i][row])))
        .collect();
    if name.ends_with("_odd") {
        for lost in LOST_ROWS {
            let (ours, theirs) = (ours.remove(lost).unwrap(), theirs.remove(lost).unwrap());
            assert!(ours[0] > theirs[0], "{name}: {lost}: {ours:?} merges {theirs:?}");
        }
    }
    assert_eq!(ours, theirs, "{name}: classes");
}

/// A class key is written as a JSON string.
fn unquote(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const SMALL: [&str; 5] = ["small", "small_internals_numeric", "s1", "s2", "chromium138_dom"];
const ALL: [&str; 12] = [
    "small",
    "small_internals_numeric",
    "s1",
    "s2",
    "chromium138_dom",
    "chromium_dom",
    "alloc20",
    "insp_plain",
    "node24_app",
    "node24_alloc",
    "node24_numeric",
    "node24_odd",
];

/// Compares a snapshot with the default budget, and with the smallest on one, two and seven threads.
fn check_all_ways(name: &str) {
    check(name, &[]);
    let memory = format!("--memory={}", smallest_budget());
    for threads in ["1", "2", "7"] {
        check(name, &[&memory, "--threads", threads]);
    }
}

#[test]
fn small_snapshots_equal_devtools() {
    SMALL.into_iter().for_each(check_all_ways);
}

#[test]
#[ignore = "long"]
fn all_snapshots_equal_devtools() {
    ALL.into_iter().for_each(check_all_ways);
}
