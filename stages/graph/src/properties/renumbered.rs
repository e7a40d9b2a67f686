//! Shortest paths of renumbered graphs: their labels stay the same.

use super::{Arc, Bench, graph, read, write};
use heaplake_kit::{Scratch, StringWriter};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Metadata, STRINGS, documents};

/// A table of a few strings.
fn write_words(scratch: &Scratch) {
    let mut words = StringWriter::create(scratch, STRINGS).unwrap();
    ["Map", "next", "items", "_idle", "a", "b", "c", "d", "e"]
        .iter()
        .for_each(|word| words.push(word.as_bytes()).unwrap());
    words.finish().unwrap();
}

/// Labels on the shortest path to each node, from its end upwards: label of the edge, class and name of its source.
type Labels = Vec<Vec<(u32, u32, u32)>>;

/// Returns the labels of a graph renumbered by `number`, in the order of the original numbers.
fn path_labels(n: usize, edges: &[Arc], number: &[u32]) -> Labels {
    let mut moved: Vec<Arc> = edges.iter().map(|&(from, to)| (number[from as usize], number[to as usize])).collect();
    moved.sort_unstable();
    let mut node = vec![0; n];
    number.iter().zip(0u32..).for_each(|(&number, at)| node[number as usize] = at);
    let bench = Bench::new(n, &moved);
    let label = |&(from, to): &Arc| (node[from as usize] + 3 * node[to as usize]) % 3 + 1;
    let (class, name) = (|at: usize| node[at] % 3, |at: usize| node[at] % 5 + 4);
    write_words(&bench.scratch);
    write(&bench.scratch, columns::EDGE_KIND, moved.iter().map(|_| 2));
    write(&bench.scratch, columns::EDGE_NAME, moved.iter().map(label));
    write(&bench.scratch, columns::NODE_CLASS, (0..n).map(|at| ClassId(class(at))));
    write(&bench.scratch, columns::NODE_NAME, (0..n).map(|at| StringId(name(at))));
    write(&bench.scratch, columns::CLASS_NAME, (0..3).map(StringId));
    let mut metadata: Metadata = bench.scratch.read_document(documents::METADATA).unwrap();
    (metadata.node_count, metadata.root) = (n as u64, NodeId(number[0]));
    bench.scratch.write_document(documents::METADATA, &metadata).unwrap();
    write(&bench.scratch, columns::DISTANCE_SEED, [NodeId(number[0])]);
    bench.distances();
    bench.shortest_paths();
    let (parents, labels) = (read(&bench.scratch, columns::PATH_PARENT), read(&bench.scratch, columns::PATH_LABEL));
    let path = |&number: &u32| {
        let mut at = number as usize;
        let mut path = Vec::new();
        while !parents[at].is_none() {
            let from = parents[at].index();
            path.push((labels[at], class(from), name(from)));
            at = from;
        }
        path
    };
    number.iter().map(path).collect()
}

/// Labels of paths do not depend on node numbers.
#[test]
fn renumbered_nodes_have_the_same_paths() {
    let mut differ = 0;
    for seed in 0..500 {
        let (n, edges) = graph::random_graph(seed, 60);
        let mut edges: Vec<Arc> = edges.into_iter().filter(|(from, to)| from != to).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut rng = heaplake_oracle::SplitMix64::new(seed);
        let mut number: Vec<u32> = (0..n as u32).collect();
        let plain = path_labels(n, &edges, &number);
        (1..n).rev().for_each(|at| number.swap(at, rng.below(at + 1)));
        assert_eq!(plain, path_labels(n, &edges, &number), "seed {seed}: {edges:?} {number:?}");
        differ += usize::from(plain.iter().any(|path| path.len() > 2));
    }
    assert!(differ > 100, "{differ} graphs have long paths");
}
