//! Thousands of small adversarial snapshots, each through the whole pipeline, against the naive oracle.

use heaplake_oracle::strategies;
use heaplake_oracle::truth::{chains, truth};
use heaplake_oracle::{Layout, NodeTruth, OracleString, Snapshot, Truth};
use heaplake_schemas::options::{AnalysisOptions, Duplicates};
use heaplake_support::cases::cases;
use heaplake_support::chain_paths::paths;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;
use heaplake_support::owner_sums::check_owner_sums;
use heaplake_support::table::Table;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// Compares all tables with the oracle.
fn check(snapshot: &Snapshot, run: &Path) {
    let truth = truth(snapshot);
    check_nodes(&truth, run);
    check_edges(snapshot, &truth, run);
    check_classes(&truth, run);
    check_chains(snapshot, &truth, run);
    check_owner_sums(run);
}

/// The values of a column without nulls.
fn all<T>(column: Vec<Option<T>>) -> Vec<T> {
    column.into_iter().map(Option::unwrap).collect()
}

fn ordinals(column: Vec<Option<u32>>) -> Vec<usize> {
    all(column).into_iter().map(|node| node as usize).collect()
}

fn check_nodes(truth: &Truth, run: &Path) {
    fn of<T>(truth: &Truth, value: impl Fn(&NodeTruth) -> T) -> Vec<T> {
        truth.nodes.iter().map(value).collect()
    }
    let nodes = Table::read(run, "nodes.parquet");
    assert_eq!(nodes.rows(), truth.nodes.len());
    assert_eq!(all(nodes.u64s("shallow_bytes")), of(truth, |node| node.shallow), "shallow");
    assert_eq!(ordinals(nodes.u32s("dominator")), of(truth, |node| node.dominator), "dominators");
    assert_eq!(all(nodes.u64s("retained_bytes")), of(truth, |node| node.retained), "retained");
    assert_eq!(nodes.i32s("distance"), of(truth, |node| node.distance), "distance");
    assert_eq!(all(nodes.u64s("retainer_count")), of(truth, |node| node.retainer_count as u64), "retainers");
    assert_eq!(all(nodes.u8s("detachedness")), of(truth, |node| node.detachedness), "detachedness");
    assert_eq!(all(nodes.texts("name")), of(truth, |node| node.name.to_string()), "names");
    assert_eq!(all(nodes.texts("class")), of(truth, |node| node.class_name.to_string()), "class names");
    let native = nodes.u64s("retained_native_bytes");
    if native.iter().all(Option::is_some) {
        assert_eq!(all(native), of(truth, |node| node.retained_native), "native");
    }
}

fn check_edges(snapshot: &Snapshot, truth: &Truth, run: &Path) {
    let edges = Table::read(run, "edges.parquet");
    let essential: Vec<bool> = truth.essential.iter().flatten().copied().collect();
    assert_eq!(all(edges.bools("essential")), essential, "essential edges");
    let targets: Vec<usize> = snapshot.nodes.iter().flat_map(|node| node.edges.iter().map(|edge| edge.to)).collect();
    assert_eq!(ordinals(edges.u32s("to")), targets, "targets");
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
    let (ours, theirs) = (chains_of_table(run), chains_of_truth(snapshot, truth));
    assert_eq!(ours, theirs, "chains");
}

fn chains_of_truth(snapshot: &Snapshot, truth: &Truth) -> Vec<Chain> {
    let name =
        |key: &OracleString| truth.nodes.iter().find(|node| node.class_key == *key).unwrap().class_name.to_string();
    let mut chains: Vec<Chain> = chains(snapshot, truth)
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
    chains.sort();
    chains
}

fn chains_of_table(run: &Path) -> Vec<Chain> {
    let classes = Table::read(run, "classes.parquet");
    let ids = classes.u32s("class_id").into_iter().map(Option::unwrap);
    let keys: BTreeMap<u32, String> = ids.zip(classes.texts("class_key").into_iter().map(Option::unwrap)).collect();
    let table = Table::read(run, "chains.parquet");
    let (kinds, ids, paths) = (table.texts("kind"), table.u32s("class_id"), paths(&table));
    let numbers = ["count", "shallow_bytes", "retained_bytes"].map(|column| table.u64s(column));
    let examples = table.u32s("example_node");
    let mut chains: Vec<Chain> = (0..table.rows())
        .map(|row| {
            let numbers = std::array::from_fn(|i| numbers[i][row].unwrap());
            let key = keys[&ids[row].unwrap()].clone();
            (kinds[row].as_deref() == Some("dominator"), key, paths[row].clone(), numbers, examples[row].unwrap())
        })
        .collect();
    assert!(numbers[2].is_sorted_by(|a, b| a >= b), "chains are sorted by retained size");
    assert_eq!(table.u32s("chain"), (0..table.rows() as u32).map(Some).collect::<Vec<_>>());
    chains.sort();
    chains
}

/// The first 120 characters, where names in paths are cut.
fn cut(name: String) -> String {
    if name.chars().count() <= 120 { name } else { name.chars().take(120).chain(['…']).collect() }
}

/// The sets of duplicates against the definition, on the equality graph of the rules for V8.
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

/// The tables that depend on nothing but input and options.
fn bytes(run: &Path) -> Vec<Vec<u8>> {
    ["nodes.parquet", "edges.parquet", "classes.parquet", "chains.parquet"]
        .map(|file| fs::read(run.join(file)).unwrap())
        .to_vec()
}

/// The run of a snapshot with all tables.
fn analyzed(lake: &Lake, input: &Path, threads: usize) -> PathBuf {
    analyze(&lake.path(), input, Analysis { threads, ..Analysis::default() }).unwrap().place
}

fn shape() -> heaplake_oracle::Shape {
    heaplake_oracle::Shape { max_nodes: 40, max_links_per_node: 4, collisions: true, root_last: true }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// In concurrent quarters: on one core, these cases would take longer than all other tests on the rest.
#[test]
fn tables_equal_the_oracle() {
    let quarter = || {
        let threads = prop::sample::select(vec![1, 2, 7]);
        let inputs = (strategies::snapshots(shape()), strategies::layouts(), threads);
        let mut runner = TestRunner::new(config(cases(2500) / 4));
        let result = runner.run(&inputs, |(snapshot, layout, threads)| {
            let lake = Lake::new();
            let input = lake.input("it.heapsnapshot", &snapshot.to_json(&layout));
            check(&snapshot, &analyzed(&lake, &input, threads));
            Ok(())
        });
        result.unwrap_or_else(|failure| panic!("{failure}"));
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(quarter);
        }
    });
}

proptest! {
    #![proptest_config(config(cases(200)))]
    #[test]
    fn duplicates_equal_the_oracle(snapshot in strategies::snapshots(shape()), layout in strategies::layouts()) {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &snapshot.to_json(&layout));
        let options = AnalysisOptions { duplicates: Duplicates::All, ..AnalysisOptions::default() };
        let analysis = Analysis { options, threads: 1, ..Analysis::default() };
        check_duplicates(&snapshot, &analyze(&lake.path(), &input, analysis).unwrap().place);
    }
}

proptest! {
    #![proptest_config(config(cases(100)))]
    #[test]
    fn threads_and_layout_change_no_byte(snapshot in strategies::snapshots(shape())) {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &snapshot.to_json(&Layout::default()));
        let expected = bytes(&analyzed(&lake, &input, 1));
        for threads in [2, 7] {
            prop_assert_eq!(&bytes(&analyzed(&lake, &input, threads)), &expected);
        }
    }
}
