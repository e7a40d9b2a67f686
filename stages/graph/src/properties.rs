//! Property tests: compares the stages on thousands of random graphs with dominators by deletion and with plain
//! breadth-first search.

use crate::fast_folder::fast_folder;
use crate::{distances, dominators, preorder, retained, retainers, shortest_paths};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnMap, ColumnWriter, Context, Job, Residents, Scratch, StringWriter};
use heaplake_oracle::graph::{self, Arc};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::scratch::{
    self as columns, Column, DistanceSeed, Metadata, NO_DISTANCE, STRINGS, documents, edge_flags,
};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

mod renumbered;

/// A scratch folder, in memory if the system supports it, with the columns that the stages read.
struct Bench {
    _folder: tempfile::TempDir,
    scratch: Scratch,
    cancel: AtomicBool,
    budget: Budget,
    threads: usize,
}

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

fn write_texts(scratch: &Scratch) {
    StringWriter::create(scratch, STRINGS).unwrap().finish().unwrap();
}

fn read<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>) -> Vec<T> {
    ColumnMap::uncounted(scratch, column).unwrap().to_vec()
}

/// Returns the nodes other than the root without an edge from another node.
fn orphans(n: usize, edges: &[Arc]) -> Vec<u32> {
    let mut held = vec![false; n];
    edges.iter().filter(|(from, to)| from != to).for_each(|&(_, to)| held[to as usize] = true);
    (1..n as u32).filter(|&node| !held[node as usize]).collect()
}

impl Bench {
    /// With columns in files.
    fn new(n: usize, edges: &[Arc]) -> Self {
        Self::with(n, edges, |scratch| scratch)
    }

    /// With columns in memory.
    fn in_memory(n: usize, edges: &[Arc]) -> Self {
        Self::with(n, edges, |scratch| scratch.with_residents(Residents::new(64 << 20)))
    }

    fn with(n: usize, edges: &[Arc], place: impl FnOnce(Scratch) -> Scratch) -> Self {
        let folder = fast_folder();
        let scratch = place(Scratch::create(&folder.path().join("scratch")).unwrap());
        let all = graph::successors(n, edges);
        let holds = |node: usize| all[node].iter().copied().filter(move |&to| to as usize != node);
        write(&scratch, columns::ESSENTIAL_DEGREE, (0..n).map(|node| holds(node).count() as u32));
        write(&scratch, columns::ESSENTIAL_TO, (0..n).flat_map(holds).map(NodeId));
        write(&scratch, columns::ESSENTIAL_ORPHAN, orphans(n, edges).into_iter().map(NodeId));
        write(&scratch, columns::NODE_EDGE_COUNT, all.iter().map(|targets| targets.len() as u32));
        write(&scratch, columns::EDGE_TO, all.iter().flatten().copied().map(NodeId));
        write(&scratch, columns::EDGE_FLAGS, edges.iter().map(|_| edge_flags::FOLLOWED));
        write(&scratch, columns::PAIRED_EDGE, []);
        write(&scratch, columns::PAIRED_PAIR, []);
        write(&scratch, columns::DISTANCE_SEED, [NodeId(0)]);
        write(&scratch, columns::NODE_SHALLOW, (0..n).map(size));
        let distance_seeds = vec![DistanceSeed { distance: 0, count: 1 }];
        let metadata = Metadata { root: NodeId(0), distance_seeds, ..Metadata::default() };
        scratch.write_document(documents::METADATA, &metadata).unwrap();
        Self { _folder: folder, scratch, cancel: AtomicBool::new(false), budget: Budget::new(64 << 20), threads: 1 }
    }

    fn context(&self) -> Context<'_> {
        Context { budget: self.budget.clone(), threads: self.threads, progress: &Silent, cancel: &self.cancel }
    }

    fn distances(&self) {
        self.distances_with(true, 1 << 14);
    }

    /// In memory only if `may_fit`; levels of at most `narrow` nodes are lists.
    fn distances_with(&self, may_fit: bool, narrow: usize) {
        let (context, options) = (self.context(), Options::Analysis(AnalysisOptions::default()));
        distances::run_with(may_fit, narrow, &Job::on(&self.scratch, &context, &options)).unwrap();
    }

    fn shortest_paths(&self) {
        let (context, options) = (self.context(), Options::Analysis(AnalysisOptions::default()));
        (shortest_paths::STAGE.run)(&Job::on(&self.scratch, &context, &options)).unwrap();
    }

    fn dominators(&self, patience: u64, may_fit: bool) {
        let (context, options) = (self.context(), Options::Analysis(AnalysisOptions::default()));
        let job = Job::on(&self.scratch, &context, &options);
        (preorder::STAGE.run)(&job).unwrap();
        retainers::run_with(may_fit, &job).unwrap();
        dominators::run_with(patience, may_fit, &job).unwrap();
        (retained::STAGE.run)(&job).unwrap();
    }
}

/// Sizes such that a sum shows its nodes.
fn size(node: usize) -> u64 {
    1 << (node % 40)
}

/// Returns dominators by deletion, with orphans and other unreached nodes under the root.
fn expected_dominators(n: usize, edges: &[Arc]) -> Vec<u32> {
    let held: Vec<Arc> = edges.iter().copied().chain(orphans(n, edges).into_iter().map(|node| (0, node))).collect();
    let dominators = graph::dominators_by_deletion(n, &held, 0);
    dominators.into_iter().map(|dominator| dominator.unwrap_or(0)).collect()
}

fn expected_retained(dominators: &[u32]) -> Vec<u64> {
    let mut sums = vec![0u64; dominators.len()];
    for node in 0..dominators.len() {
        let mut at = node;
        sums[at] += size(node);
        while at != 0 {
            at = dominators[at] as usize;
            sums[at] += size(node);
        }
    }
    sums
}

#[test]
fn dominators_and_retained_sizes_equal_deletion() {
    for seed in 0..6000 {
        let (n, edges) = graph::random_graph(seed, 30);
        // All variants of retainers: from files, and in memory with and without space.
        let bench = if seed % 3 == 2 { Bench::new(n, &edges) } else { Bench::in_memory(n, &edges) };
        // Both variants of the second step: the plain climb, and jump pointers from the start.
        bench.dominators(if seed % 2 == 0 { 16 } else { 0 }, seed % 3 == 0);
        let dominators: Vec<u32> = read(&bench.scratch, columns::NODE_DOMINATOR).iter().map(|node| node.0).collect();
        let expected = expected_dominators(n, &edges);
        assert_eq!(dominators, expected, "seed {seed}: {edges:?}");
        assert_eq!(read(&bench.scratch, columns::NODE_RETAINED), expected_retained(&expected), "seed {seed}");
        assert_eq!(bench.budget.used(), 0, "all memory is given back");
    }
}

#[test]
fn distances_equal_a_plain_queue() {
    for seed in 0..2000 {
        let (n, edges) = graph::random_graph(seed, 60);
        let mut bench = Bench::new(n, &edges);
        bench.threads = seed as usize % 3 + 1;
        // Levels that are all sets, some sets and some lists, and all lists.
        bench.distances_with(seed % 2 == 0, [0, 4, n][seed as usize % 5 % 3]);
        let expected: Vec<i32> = graph::distances(n, &edges, 0)
            .into_iter()
            .map(|distance| distance.map_or(NO_DISTANCE, |distance| distance as i32))
            .collect();
        assert_eq!(read(&bench.scratch, columns::NODE_DISTANCE), expected, "seed {seed}: {edges:?}");
    }
}

/// Makes pairs of some edges with equal targets, and marks some others as not followed.
fn pair_some(bench: &Bench, seed: u64) {
    let mut rng = heaplake_oracle::SplitMix64::new(seed);
    let to = read(&bench.scratch, columns::EDGE_TO);
    let mut flags = vec![edge_flags::FOLLOWED; to.len()];
    let (mut paired, mut last) = (Vec::new(), HashMap::new());
    for (edge, target) in to.into_iter().enumerate() {
        match rng.below(6) {
            0 => flags[edge] = 0,
            1 | 2 => match last.remove(&target) {
                None => drop(last.insert(target, edge)),
                Some(first) => {
                    let pair = paired.len() as u32 / 2;
                    paired.extend([(first as u64, pair), (edge as u64, pair)]);
                    [first, edge].into_iter().for_each(|edge| flags[edge] |= edge_flags::PAIRED);
                }
            },
            _ => (),
        }
    }
    paired.sort_unstable();
    write(&bench.scratch, columns::EDGE_FLAGS, flags);
    write(&bench.scratch, columns::PAIRED_EDGE, paired.iter().map(|&(edge, _)| edge));
    write(&bench.scratch, columns::PAIRED_PAIR, paired.iter().map(|&(_, pair)| pair));
}

#[test]
fn paired_edges_are_met_alike_in_lists_and_in_sets() {
    for seed in 0..3000 {
        let (n, edges) = graph::random_graph(seed, 60);
        let mut bench = Bench::new(n, &edges);
        pair_some(&bench, seed);
        bench.distances_with(false, n);
        let expected = read(&bench.scratch, columns::NODE_DISTANCE);
        for threads in 1..3 {
            bench.threads = threads;
            bench.distances_with(true, seed as usize % 3);
            assert_eq!(read(&bench.scratch, columns::NODE_DISTANCE), expected, "seed {seed}: {edges:?}");
        }
    }
}

/// Enough edges for many blocks, some sources with more edges than a block holds, and wide levels in many parts.
#[test]
fn threads_share_levels_and_edges() {
    const NODES: u32 = 150_000;
    let mut rng = heaplake_oracle::SplitMix64::new(7);
    let mut edges: Vec<Arc> = Vec::new();
    for node in 0..NODES {
        let degree = if node % 20_000 == 3 { 10_000 } else { rng.below(12) };
        edges.extend((0..degree).map(|_| (node, rng.below(NODES as usize) as u32)));
    }
    edges.extend([(0, 3), (0, 20_003)]);
    edges.sort_by_key(|&(from, _)| from);
    let mut bench = Bench::new(NODES as usize, &edges);
    write_texts(&bench.scratch);
    write(&bench.scratch, columns::EDGE_KIND, edges.iter().map(|&(from, to)| ((from ^ to) % 3) as u8));
    write(&bench.scratch, columns::EDGE_NAME, edges.iter().map(|_| label::NONE));
    let mut metadata: Metadata = bench.scratch.read_document(documents::METADATA).unwrap();
    metadata.node_count = NODES.into();
    bench.scratch.write_document(documents::METADATA, &metadata).unwrap();
    let expected = graph::distances(NODES as usize, &edges, 0);
    let far = |node: u32| expected[node as usize].map_or(NO_DISTANCE, |distance| distance as i32);
    let mut best = vec![(u8::MAX, NodeId::NONE); NODES as usize];
    for &(from, to) in edges.iter().filter(|&&(from, to)| far(from) != NO_DISTANCE && far(from) + 1 == far(to)) {
        let kind = ((from ^ to) % 3) as u8;
        best[to as usize] = best[to as usize].min((kind, NodeId(from)));
    }
    for threads in [1, 3] {
        bench.threads = threads;
        bench.distances_with(true, 0);
        assert_eq!(read(&bench.scratch, columns::NODE_DISTANCE), (0..NODES).map(far).collect::<Vec<_>>());
        bench.shortest_paths();
        let parents = read(&bench.scratch, columns::PATH_PARENT);
        assert_eq!(parents, best.iter().map(|&(_, from)| from).collect::<Vec<_>>(), "{threads} threads");
    }
}

/// Marks some essential edges as avoided; returns the other edges and these, in the order of the column.
fn avoid_some(bench: &Bench, seed: u64) -> (Vec<Arc>, Vec<Arc>) {
    let mut rng = heaplake_oracle::SplitMix64::new(seed);
    let (mut strong, mut avoided, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    let to = read(&bench.scratch, columns::ESSENTIAL_TO);
    let degrees = read(&bench.scratch, columns::ESSENTIAL_DEGREE);
    let from = degrees.iter().zip(0..).flat_map(|(&degree, node)| (0..degree).map(move |_| node));
    for (position, arc) in from.zip(to.iter().map(|node| node.0)).enumerate() {
        if rng.one_in(4) {
            positions.push(position as u64);
            avoided.push(arc);
        } else {
            strong.push(arc);
        }
    }
    write(&bench.scratch, columns::AVOIDED_EDGE, positions);
    write(&bench.scratch, columns::AVOIDED_FROM, avoided.iter().map(|&(from, _)| NodeId(from)));
    let mut metadata: Metadata = bench.scratch.read_document(documents::METADATA).unwrap();
    (metadata.follows_essential, metadata.node_count) = (true, degrees.len() as u64);
    bench.scratch.write_document(documents::METADATA, &metadata).unwrap();
    (strong, avoided)
}

#[test]
fn paths_avoid_edges_where_others_lead() {
    for seed in 0..2000 {
        let (n, edges) = graph::random_graph(seed, 60);
        let mut bench = Bench::new(n, &edges);
        bench.threads = seed as usize % 3 + 1;
        let (strong, avoided) = avoid_some(&bench, seed);
        write_texts(&bench.scratch);
        bench.distances_with(seed % 2 == 0, [0, 4, n][seed as usize % 5 % 3]);
        let expected = graph::distances_avoiding(n, &strong, &avoided, 0);
        let distances = read(&bench.scratch, columns::NODE_DISTANCE);
        let told = |distance: &Option<u32>| distance.map_or(NO_DISTANCE, |distance| distance as i32);
        assert_eq!(distances, expected.iter().map(told).collect::<Vec<_>>(), "seed {seed}: {strong:?} {avoided:?}");
        let late = read(&bench.scratch, columns::NODE_AVOIDED);
        let reached = graph::reachable(n, &strong, 0, None);
        bench.shortest_paths();
        for (node, parent) in read(&bench.scratch, columns::PATH_PARENT).into_iter().enumerate() {
            assert_eq!(late[node] == 1, expected[node].is_some() && !reached[node], "seed {seed}: node {node}");
            assert_eq!(parent.is_none(), node == 0 || expected[node].is_none(), "seed {seed}: node {node}");
            if !parent.is_none() {
                let arc = (parent.0, node as u32);
                assert_eq!(distances[parent.index()] + 1, distances[node], "seed {seed}: {arc:?}");
                let is_plain = strong.contains(&arc) && reached[parent.index()];
                assert!(is_plain || !reached[node], "seed {seed}: {arc:?} of {strong:?} {avoided:?}");
            }
        }
    }
}

/// A graph on which plain climbs take quadratic time: a long list, and at its end many nodes in a row to which the root
/// also refers, so that each climb passes the whole list.
#[test]
fn long_climbs_are_bounded() {
    const LIST: u32 = 50_000;
    const TAIL: u32 = 50_000;
    // The list comes first, so that the search follows it before the root's other edges.
    let mut edges: Vec<Arc> = vec![(0, 1)];
    edges.extend((1..LIST).map(|node| (node, node + 1)));
    edges.extend((LIST + 1..=LIST + TAIL).flat_map(|node| [(LIST, node), (0, node)]));
    edges.sort_by_key(|&(from, _)| from);
    let bench = Bench::new((LIST + TAIL) as usize + 1, &edges);
    bench.dominators(16, true);
    let dominators = read(&bench.scratch, columns::NODE_DOMINATOR);
    for node in 1..=LIST + TAIL {
        assert_eq!(dominators[node as usize].0, if node <= LIST { node - 1 } else { 0 }, "node {node}");
    }
}

/// Columns that must not depend on the budget.
fn results(bench: &Bench) -> (Vec<NodeId>, Vec<u64>, Vec<i32>) {
    bench.dominators(16, true);
    bench.distances();
    let scratch = &bench.scratch;
    (
        read(scratch, columns::NODE_DOMINATOR),
        read(scratch, columns::NODE_RETAINED),
        read(scratch, columns::NODE_DISTANCE),
    )
}

#[test]
fn paging_changes_nothing() {
    // Half a million nodes with near and far edges: 12 bytes per node exceed the small budget.
    const NODES: u32 = 500_000;
    let mut rng = heaplake_oracle::SplitMix64::new(11);
    let mut edges: Vec<Arc> = Vec::new();
    for node in 0..NODES - 1 {
        edges.push((rng.below(node.min(2000) as usize + 1) as u32 + node.saturating_sub(2000), node + 1));
        edges.push((node, rng.below(NODES as usize) as u32));
    }
    edges.sort_by_key(|&(from, _)| from);
    let mut bench = Bench::new(NODES as usize, &edges);
    let expected = results(&bench);
    bench.budget = Budget::new(6 << 20);
    assert_eq!(results(&bench), expected);
    assert!(bench.budget.peak() <= 6 << 20);
}
