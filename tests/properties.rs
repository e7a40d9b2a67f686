//! Thousands of small adversarial snapshots, each through the whole pipeline, against the naive oracle.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use heaplake_oracle::strategies;
use heaplake_oracle::truth::{chains, truth};
use heaplake_oracle::{Layout, OracleString, Snapshot, Truth};
use heaplake_schemas::run::{Duplicates, Options};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{Lake, Table, check_owner_sums, paths};

/// Everything that the tables say, against the truth.
fn check(snapshot: &Snapshot, run: &Path) {
    let truth = truth(snapshot);
    let nodes = Table::read(run, "nodes.parquet");
    assert_eq!(nodes.rows(), truth.nodes.len());
    let ids = |values: Vec<Option<u32>>| values.into_iter().map(|value| value.unwrap() as usize).collect::<Vec<_>>();
    let sizes = |column: &str| nodes.u64s(column).into_iter().map(Option::unwrap).collect::<Vec<_>>();
    let all = |of: fn(&heaplake_oracle::NodeTruth) -> u64| truth.nodes.iter().map(of).collect::<Vec<_>>();
    let texts = |of: fn(&heaplake_oracle::NodeTruth) -> &heaplake_oracle::OracleString| {
        truth.nodes.iter().map(|node| Some(of(node).to_string())).collect::<Vec<_>>()
    };
    assert_eq!(sizes("shallow_bytes"), all(|node| node.shallow), "shallow");
    assert_eq!(ids(nodes.u32s("dominator")), truth.nodes.iter().map(|node| node.dominator).collect::<Vec<_>>());
    assert_eq!(sizes("retained_bytes"), all(|node| node.retained), "retained");
    assert_eq!(nodes.i32s("distance"), truth.nodes.iter().map(|node| node.distance).collect::<Vec<_>>(), "distance");
    assert_eq!(ids(nodes.u32s("retainer_count")), truth.nodes.iter().map(|n| n.retainer_count).collect::<Vec<_>>());
    let states: Vec<u8> = nodes.u8s("detachedness").into_iter().map(Option::unwrap).collect();
    assert_eq!(states, truth.nodes.iter().map(|node| node.detachedness).collect::<Vec<_>>(), "detachedness");
    assert_eq!(nodes.texts("name"), texts(|node| &node.name), "names");
    assert_eq!(nodes.texts("class"), texts(|node| &node.class_name), "class names");
    if nodes.u64s("retained_native_bytes").iter().all(Option::is_some) {
        assert_eq!(sizes("retained_native_bytes"), all(|node| node.retained_native), "native");
    }

    let edges = Table::read(run, "edges.parquet");
    let essential: Vec<Option<bool>> = truth.essential.iter().flatten().map(|&essential| Some(essential)).collect();
    assert_eq!(edges.bools("essential"), essential, "essential edges");
    let targets: Vec<usize> = snapshot.nodes.iter().flat_map(|node| node.edges.iter().map(|edge| edge.to)).collect();
    assert_eq!(ids(edges.u32s("to")), targets, "targets");
    check_classes(&truth, run);
    check_chains(snapshot, &truth, run);
    check_owner_sums(run);
}

type Row = (String, [u64; 4], Option<i32>);

fn check_classes(truth: &Truth, run: &Path) {
    let classes = Table::read(run, "classes.parquet");
    let theirs: BTreeMap<String, Row> = truth
        .classes
        .iter()
        .map(|(key, row)| {
            let numbers = [row.count, row.shallow, row.retained, row.max_retained];
            (key.to_string(), (row.name.to_string(), numbers, row.distance))
        })
        .collect();
    let numbers = ["count", "shallow_bytes", "retained_bytes", "max_retained_bytes"].map(|column| classes.u64s(column));
    let (names, distances) = (classes.texts("class"), classes.i32s("distance"));
    let ours: BTreeMap<String, Row> = classes
        .texts("class_key")
        .into_iter()
        .enumerate()
        .map(|(row, key)| {
            let numbers = std::array::from_fn(|i| numbers[i][row].unwrap());
            (key.unwrap(), (names[row].clone().unwrap(), numbers, distances[row]))
        })
        .collect();
    assert_eq!(ours, theirs, "classes");
    let retained = &numbers[2];
    assert!(retained.is_sorted_by(|a, b| a >= b), "classes are sorted by retained size");
}

/// Kind, class key of the instances, path, count, sizes and example of a chain. Paths have names of classes, not keys.
type Chain = (bool, String, Vec<(Option<String>, String, bool)>, [u64; 3], u32);

fn check_chains(snapshot: &Snapshot, truth: &Truth, run: &Path) {
    let name =
        |key: &OracleString| truth.nodes.iter().find(|node| node.class_key == *key).unwrap().class_name.to_string();
    let mut theirs: Vec<Chain> = chains(snapshot, truth)
        .into_iter()
        .map(|chain| {
            let key = chain.path.last().unwrap().0.class.to_string();
            let path = chain
                .path
                .iter()
                .map(|(at, again)| (at.edge.as_ref().map(|edge| cut(edge.to_string())), cut(name(&at.class)), *again));
            let numbers = [chain.count, chain.shallow, chain.retained];
            (chain.dominators, key, path.collect(), numbers, chain.example as u32)
        })
        .collect();
    theirs.sort();
    let classes = Table::read(run, "classes.parquet");
    let ids = classes.u32s("class_id").into_iter().map(Option::unwrap);
    let keys: BTreeMap<u32, String> = ids.zip(classes.texts("class_key").into_iter().map(Option::unwrap)).collect();
    let table = Table::read(run, "chains.parquet");
    let (kinds, ids, paths) = (table.texts("kind"), table.u32s("class_id"), paths(&table));
    let numbers = ["count", "shallow_bytes", "retained_bytes"].map(|column| table.u64s(column));
    let examples = table.u32s("example_node");
    let mut ours: Vec<Chain> = (0..table.rows())
        .map(|row| {
            let numbers = std::array::from_fn(|i| numbers[i][row].unwrap());
            let key = keys[&ids[row].unwrap()].clone();
            (kinds[row].as_deref() == Some("dominator"), key, paths[row].clone(), numbers, examples[row].unwrap())
        })
        .collect();
    assert!(numbers[2].is_sorted_by(|a, b| a >= b), "chains are sorted by retained size");
    assert_eq!(table.u32s("chain"), (0..table.rows() as u32).map(Some).collect::<Vec<_>>());
    ours.sort();
    assert_eq!(ours, theirs, "chains");
}

/// The first 120 characters, as names of paths are cut.
fn cut(name: String) -> String {
    if name.chars().count() <= 120 { name } else { name.chars().take(120).chain(['…']).collect() }
}

/// The sets of duplicates against the definition, on the equality graph that the rules for V8 give.
fn check_duplicates(snapshot: &Snapshot, run: &Path) {
    let graph = heaplake_oracle::duplicates::v8::equality(snapshot);
    let theirs: Vec<(Vec<usize>, bool, u64)> =
        graph.sets().into_iter().map(|set| (set.members, set.trivial, set.additional)).collect();
    let sets = Table::read(run, "duplicate_sets.parquet");
    let of = Table::read(run, "nodes.parquet").u32s("duplicate_set");
    let (trivial, additional) = (sets.bools("trivial"), sets.u64s("additional_bytes"));
    assert!(sets.bools("additional_exact").iter().all(|&exact| exact == Some(true)), "nothing is left open");
    let mut ours: Vec<(Vec<usize>, bool, u64)> = (0..sets.rows())
        .map(|set| {
            let members = (0..of.len()).filter(|&node| of[node] == Some(set as u32)).collect();
            (members, trivial[set].unwrap(), additional[set].unwrap())
        })
        .collect();
    ours.sort();
    assert_eq!(ours, theirs, "duplicates");
}

/// The tables that must not depend on anything but input and options.
fn bytes(run: &Path) -> Vec<Vec<u8>> {
    ["nodes.parquet", "edges.parquet", "classes.parquet", "chains.parquet"]
        .map(|file| fs::read(run.join(file)).unwrap())
        .to_vec()
}

fn shape() -> heaplake_oracle::Shape {
    heaplake_oracle::Shape { max_nodes: 40, max_links_per_node: 4, collisions: true, root_last: true }
}

/// Cases of a test: few by default, more where HEAPLAKE_CASES says so (`make test-long`).
fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(2500))]
    #[test]
    fn tables_equal_the_oracle(
        snapshot in strategies::snapshots(shape()),
        layout in strategies::layouts(),
        threads in prop::sample::select(vec![1, 2, 7]),
    ) {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &snapshot.to_json(&layout));
        check(&snapshot, &lake.analyze_here(input, threads).unwrap().place);
    }
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn duplicates_equal_the_oracle(snapshot in strategies::snapshots(shape()), layout in strategies::layouts()) {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &snapshot.to_json(&layout));
        let options = Options { duplicates: Duplicates::All, ..Options::default() };
        check_duplicates(&snapshot, &lake.analyze_as(input, 1, options).unwrap().place);
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn threads_and_layout_change_no_byte(snapshot in strategies::snapshots(shape())) {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &snapshot.to_json(&Layout::default()));
        let expected = bytes(&lake.analyze_here(&input, 1).unwrap().place);
        for threads in [2, 7] {
            prop_assert_eq!(&bytes(&lake.analyze_here(&input, threads).unwrap().place), &expected);
        }
    }
}
