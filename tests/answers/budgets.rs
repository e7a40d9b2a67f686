//! Tables are identical for every budget and number of threads, and correct at the smallest budget.

use super::duplicate_sets::sets;
use heaplake::engine::admission::smallest_budget;
use heaplake_oracle::graph::{Arc, distances, dominators_by_deletion, random_graph, retained};
use heaplake_oracle::{Edge, Layout, Snapshot, SplitMix64};
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A budget without paging.
const PLENTY: u64 = 1 << 30;

/// All tables of a run except the one with times.
fn files(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let kept = files.filter(|path| !["run.json", "snapshot.parquet"].iter().any(|name| path.ends_with(name)));
    kept.map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap())).collect()
}

/// Bytes spilled per stage.
fn spilled(run: &Path) -> BTreeMap<String, i64> {
    let snapshot = Table::read(run, "snapshot.parquet");
    let stages = snapshot.0.column_by_name("stages").unwrap();
    let stages = stages.as_any().downcast_ref::<arrow::array::ListArray>().unwrap().value(0);
    let stages = stages.as_any().downcast_ref::<arrow::array::StructArray>().unwrap();
    let names = stages.column_by_name("name").unwrap();
    let names = names.as_any().downcast_ref::<arrow::array::StringArray>().unwrap();
    let bytes = stages.column_by_name("spilled_bytes").unwrap();
    let bytes = bytes.as_any().downcast_ref::<arrow::array::Int64Array>().unwrap();
    names.iter().map(|name| name.unwrap().to_owned()).zip(bytes.iter().map(Option::unwrap)).collect()
}

/// Analyses an input with a budget and a number of threads; returns the run.
fn analyzed(lake: &Lake, input: &Path, memory: u64, threads: usize) -> PathBuf {
    let (memory, threads) = (memory.to_string(), threads.to_string());
    let options = ["--duplicates", "all", "--edges", "--force", "--memory", &memory, "--threads", &threads];
    lake.analyze(input).args(options).assert().success();
    lake.run()
}

/// Two chains of `length` nodes, each with two references to the next one: nodes with several retainers are first
/// compared by identity, so only a comparison of all pairs shows that the chains are equal.
fn twin_chains(length: usize) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    let mut above = [root, root];
    for _ in 0..length {
        for above in &mut above {
            let link = snapshot.add_node("object", "Link", 32);
            if *above == root {
                snapshot.add_numbered_edge(root, "element", link as u64, link);
            } else {
                ["left", "right"].into_iter().for_each(|name| snapshot.add_edge(*above, "property", name, link));
            }
            *above = link;
        }
    }
    snapshot
}

/// The duplicates found do not depend on the budget. Nodes at one depth are equal; at the last few depths few
/// comparisons show it, at the top nearly all pairs are needed.
fn check_twins(length: usize, found: bool) {
    let lake = Lake::new();
    let input = lake.input("it.heapsnapshot", &twin_chains(length).to_json(&Layout::default()));
    let small = files(&analyzed(&lake, &input, smallest_budget(), 1));
    let large = analyzed(&lake, &input, PLENTY, 3);
    assert!(files(&large) == small, "tables depend on budget or threads");
    let sets = sets(&large);
    assert_eq!(sets.len(), length);
    let top = sets.iter().find(|set| set.members == [1, 2]).unwrap();
    assert_eq!(top.additional_exact, found);
    assert_eq!(top.additional_bytes, if found { 32 * length as u64 } else { 32 });
}

#[test]
fn the_budget_does_not_decide_what_is_a_duplicate() {
    check_twins(60_000, true);
}

#[test]
#[ignore = "long"]
fn the_limit_of_a_comparison_is_the_same_at_any_budget() {
    check_twins(300_000, false);
}

/// Three nodes of one class with `edges` named edges each: the second has those of the first in another order, the
/// third has a different last label.
fn hubs(edges: usize) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    let hubs: [usize; 3] = std::array::from_fn(|number| {
        let hub = snapshot.add_node("object", "Hub", 64);
        snapshot.add_numbered_edge(root, "element", number as u64, hub);
        hub
    });
    let leaf = snapshot.add_node("object", "Leaf", 16);
    // The labels are new, and the oracle would compare each with all strings before it.
    let first = snapshot.strings.len();
    snapshot.strings.extend((0..=edges).map(|at| format!("field {at}").as_str().into()));
    let kind = snapshot.edge_types.iter().position(|kind| kind == "property").unwrap();
    let edge = |label: usize| Edge { kind, name_or_index: (first + label) as u64, to: leaf };
    snapshot.nodes[hubs[0]].edges = (0..edges).map(edge).collect();
    snapshot.nodes[hubs[1]].edges = (0..edges).rev().map(edge).collect();
    snapshot.nodes[hubs[2]].edges = (0..edges).map(|at| edge(at + at / (edges - 1))).collect();
    snapshot
}

/// More edges than a block of edges, and than are sorted in one piece, with columns in files and in memory.
#[test]
fn nodes_with_very_many_edges_are_compared() {
    for edges in [30_000, 150_000] {
        let lake = Lake::new();
        let input = lake.input("it.heapsnapshot", &hubs(edges).to_json(&Layout::default()));
        let mut expected = None;
        for (resume, threads) in [("always", "1"), ("always", "3"), ("never", "3")] {
            let options = ["--duplicates", "all", "--edges", "--force", "--resume", resume, "--threads", threads];
            lake.analyze(&input).args(options).assert().success();
            let sets = sets(&lake.run());
            assert_eq!(
                sets.iter().map(|set| set.members.clone()).collect::<Vec<_>>(),
                [vec![1, 2]],
                "{edges} {resume}"
            );
            let tables = files(&lake.run());
            assert!(*expected.get_or_insert_with(|| tables.clone()) == tables, "{edges} {resume} {threads}");
        }
    }
}

/// Many random graphs below one root, their nodes interleaved, so that neighbours lie far apart.
struct Forest {
    snapshot: Snapshot,
    /// Each graph and its nodes; the root refers to the first node.
    graphs: Vec<(Vec<Arc>, Vec<usize>)>,
}

impl Forest {
    fn new(seed: u64, nodes: usize) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let (mut graphs, mut count) = (Vec::new(), 0);
        while count < nodes {
            let (n, arcs) = random_graph(rng.next_u64(), 30);
            graphs.push((arcs, n));
            count += n;
        }
        let mut names: Vec<usize> = (1..=count).collect();
        rng.shuffle(&mut names);
        let mut snapshot = Snapshot::new();
        let root = snapshot.add_node("synthetic", "", 0);
        for _ in 0..count {
            snapshot.add_node("object", ["A", "B", "C"][rng.below(3)], 8 * rng.below(4) as u64);
        }
        let mut names = names.into_iter();
        let graphs: Vec<_> = graphs.into_iter().map(|(arcs, n)| (arcs, names.by_ref().take(n).collect())).collect();
        let kind = snapshot.edge_types.iter().position(|kind| kind == "element").unwrap();
        for (arcs, names) in &graphs {
            let mut add = |from: usize, to| {
                let edges = &mut snapshot.nodes[from].edges;
                edges.push(Edge { kind, name_or_index: edges.len() as u64, to });
            };
            let names: &Vec<usize> = names;
            add(root, names[0]);
            arcs.iter().for_each(|&(from, to)| add(names[from as usize], names[to as usize]));
        }
        Self { snapshot, graphs }
    }

    /// Checks every node of a run against the definition.
    fn check(&self, run: &Path) {
        let nodes = Table::read(run, "nodes.parquet");
        let (kept, dominators, far) = (nodes.u64s("retained_bytes"), nodes.u32s("dominator"), nodes.i32s("distance"));
        assert_eq!(nodes.rows(), self.snapshot.nodes.len());
        for (arcs, names) in &self.graphs {
            let truth = self.truth(arcs, names);
            for (&node, truth) in names.iter().zip(truth) {
                let ours = (dominators[node].unwrap() as usize, kept[node].unwrap(), far[node].map(|far| far as u32));
                assert_eq!(ours, truth, "node {node}");
            }
        }
    }

    /// Dominator, retained size and distance of each node of a graph.
    fn truth(&self, arcs: &[Arc], names: &[usize]) -> Vec<(usize, u64, Option<u32>)> {
        let n = names.len() + 1;
        let mut arcs: Vec<Arc> = arcs.iter().map(|&(from, to)| (from + 1, to + 1)).collect();
        arcs.push((0, 1));
        let far = distances(n, &arcs, 0);
        let held = |node: u32| arcs.iter().any(|&(from, to)| to == node && from != node);
        // The root retains all nodes without another retainer.
        let orphans: Vec<Arc> = (1..n as u32).filter(|&node| !held(node)).map(|node| (0, node)).collect();
        arcs.extend(orphans);
        let sizes: Vec<u64> =
            std::iter::once(&0).chain(names).map(|&node| self.snapshot.nodes[node].self_size).collect();
        let (dominators, kept) = (dominators_by_deletion(n, &arcs, 0), retained(n, &arcs, 0, &sizes));
        let name = |node: u32| if node == 0 { 0 } else { names[node as usize - 1] };
        let alone = |node: usize| dominators[node].map_or(sizes[node], |_| kept[node]);
        (1..n).map(|node| (dominators[node].map_or(0, name), alone(node), far[node])).collect()
    }
}

/// A forest of about `nodes` nodes: at the smallest budget with one thread and with three, and with a large budget.
/// `pages` are the stages that must spill at the smallest budget.
fn check_forest(seed: u64, nodes: usize, pages: &[&str]) {
    let lake = Lake::new();
    let forest = Forest::new(seed, nodes);
    let input = lake.input("it.heapsnapshot", &forest.snapshot.to_json(&Layout::default()));
    let run = analyzed(&lake, &input, smallest_budget(), 1);
    let spilled = spilled(&run);
    let paged: Vec<&&str> = pages.iter().filter(|stage| spilled.get(**stage).is_some_and(|bytes| *bytes > 0)).collect();
    assert_eq!(paged.len(), pages.len(), "{spilled:?}");
    forest.check(&run);
    let expected = files(&run);
    for (memory, threads) in [(smallest_budget(), 3), (PLENTY, 3)] {
        assert!(files(&analyzed(&lake, &input, memory, threads)) == expected, "{memory} bytes, {threads} threads");
    }
}

#[test]
fn random_graphs_are_right_where_stages_spill() {
    check_forest(1, 450_000, &["equality", "retainer trees", "undecided pairs"]);
}

#[test]
#[ignore = "long"]
fn random_graphs_are_right_where_most_stages_page() {
    check_forest(2, 4_200_000, &["candidate classes", "chains", "holders/dominators", "retainers", "shortest paths"]);
}

#[test]
fn tracked_allocations_are_the_same_bytes() {
    let lake = Lake::new();
    let input = heaplake_support::fixtures::v8("alloc20");
    let expected = files(&analyzed(&lake, &input, PLENTY, 1));
    for table in ["allocation_functions", "allocation_callees", "live_allocations", "samples"] {
        assert!(expected.contains_key(Path::new(&format!("{table}.parquet"))), "{table}");
    }
    for (memory, threads) in [(PLENTY, 2), (PLENTY, 7), (smallest_budget(), 1), (smallest_budget(), 7)] {
        assert!(files(&analyzed(&lake, &input, memory, threads)) == expected, "{memory} bytes, {threads} threads");
    }
}
