//! Dominators and retained sizes.

use crate::graph::Arc;
use crate::model::Snapshot;

/// Immediate dominators over the essential edges and an edge from the root to every node without an incoming essential
/// edge. Nodes still unreachable (garbage cycles and their targets) are children of the root.
pub(super) fn dominators(
    snapshot: &Snapshot,
    essential: &[Vec<bool>],
    algorithm: impl Fn(usize, &[Arc], u32) -> Vec<Option<u32>>,
) -> Vec<usize> {
    let n = snapshot.nodes.len();
    let root = snapshot.root();
    let mut edges = essential_edges(snapshot, essential);
    let mut entered = vec![false; n];
    for &(_, to) in &edges {
        entered[to as usize] = true;
    }
    let orphans = (0..n).filter(|&v| v != root && !entered[v]);
    edges.extend(orphans.map(|orphan| (root as u32, orphan as u32)));
    let found = algorithm(n, &edges, root as u32);
    found.into_iter().map(|dominator| dominator.map_or(root, |d| d as usize)).collect()
}

fn essential_edges(snapshot: &Snapshot, essential: &[Vec<bool>]) -> Vec<Arc> {
    let mut edges = Vec::new();
    for (from, node) in snapshot.nodes.iter().enumerate() {
        for (edge, &counts) in node.edges.iter().zip(&essential[from]) {
            if counts {
                edges.push((from as u32, edge.to as u32));
            }
        }
    }
    edges
}

/// Adds every node's size to itself and to all of its dominators.
pub(super) fn retained(dominator: &[usize], sizes: &[u64]) -> Vec<u64> {
    let mut retained = sizes.to_vec();
    for (v, size) in sizes.iter().enumerate() {
        for above in ancestors(v, |v| dominator[v]) {
            retained[above] += size;
        }
    }
    retained
}

/// The strict dominators of a node, the closest first.
pub(super) fn ancestors(node: usize, dominator: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
    let above = move |v: usize| Some(dominator(v)).filter(|&d| d != v);
    std::iter::successors(above(node), move |&v| above(v))
}
