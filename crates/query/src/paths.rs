//! Enumerates the shortest paths to an object.
//!
//! A path begins at the root, or at a node of distance 1 that no known edge links to the root, such as a user root;
//! then the edge from the root counts although the input lacks it. Paths are simple. They are ordered by length, then
//! by their nodes from the object up.
//!
//! For each length, a depth-first search extends paths upwards and prunes those that cannot end with this length: a
//! preceding downward search has computed the minimum number of edges from the root to each node. The pruned paths
//! determine the next length.

use crate::graph::Graph;
use rustc_hash::FxHashSet;

/// Maximum number of edges to visit.
const WORK: u64 = 1 << 24;

/// No path from the root leads to the node.
const NEVER: u32 = u32::MAX;

/// Returns at most `most` shortest paths to a node, each from its upper end; and whether the search was complete, that
/// is, found all paths or `most` of them. Resident memory: 12 bytes per node, 4 per edge.
pub(crate) fn paths(graph: &Graph, node: u32, most: usize) -> (Vec<Vec<u32>>, bool) {
    let rest = least(graph, node);
    let mut search = Search { graph, rest: &rest, asked: node, most, found: Vec::new(), next: None, left: WORK };
    let mut length = 0;
    loop {
        if search.found.len() == most {
            return (search.found, true);
        }
        if !search.of_length(length) {
            return (search.found, false);
        }
        match search.next.take() {
            Some(next) if search.found.len() < most => length = next,
            _ => return (search.found, true),
        }
    }
}

/// If paths to `asked` can begin at a node: the number of edges above it.
fn begins(graph: &Graph, asked: u32, node: u32) -> Option<u32> {
    match node {
        _ if node == graph.root => Some(0),
        _ if node != asked && graph.far(node) <= 1 && !is_of_root(graph, node) => Some(1),
        _ => None,
    }
}

/// Whether an edge leads from the root, at distance 0, to a node.
fn is_of_root(graph: &Graph, node: u32) -> bool {
    graph.far(graph.root) == 0 && graph.held_by(node).iter().any(|edge| edge.0 == graph.root)
}

/// Whether a path to `asked` may use an edge.
fn may_go(graph: &Graph, asked: u32, from: u32, to: u32) -> bool {
    // A node with an edge from the root is reached from there.
    let is_first = to != asked && graph.far(to) <= 1;
    graph.far(from) != i32::MAX && (!is_first || from == graph.root)
}

/// Minimum number of edges from the root to each node.
fn least(graph: &Graph, asked: u32) -> Vec<u32> {
    let nodes = 0..graph.len() as u32;
    let mut start = vec![0u64; graph.len() + 1];
    let each = |visit: &mut dyn FnMut(u32, u32)| {
        for to in nodes.clone() {
            graph.held_by(to).iter().for_each(|&(from, _)| visit(from, to));
        }
    };
    each(&mut |from, _| start[from as usize + 1] += 1);
    (1..start.len()).for_each(|at| start[at] += start[at - 1]);
    let mut targets = vec![0u32; *start.last().unwrap_or(&0) as usize];
    // Afterwards `start` has the end of each node's edges, where those of the next node began.
    each(&mut |from, to| {
        targets[start[from as usize] as usize] = to;
        start[from as usize] += 1;
    });
    let mut rest = vec![NEVER; graph.len()];
    let mut level: Vec<u32> = vec![graph.root];
    rest[graph.root as usize] = 0;
    let mut ends = nodes.filter(|&node| begins(graph, asked, node) == Some(1)).collect::<Vec<_>>();
    ends.iter().for_each(|&node| rest[node as usize] = 1);
    let mut edges = 0;
    while !level.is_empty() {
        edges += 1;
        let mut below = std::mem::take(&mut ends);
        for &from in &level {
            let first = from.checked_sub(1).map_or(0, |before| start[before as usize]);
            for &to in &targets[first as usize..start[from as usize] as usize] {
                if rest[to as usize] == NEVER && may_go(graph, asked, from, to) {
                    rest[to as usize] = edges;
                    below.push(to);
                }
            }
        }
        level = below;
    }
    rest
}

/// Search for paths of one length.
struct Search<'a> {
    graph: &'a Graph,
    rest: &'a [u32],
    asked: u32,
    most: usize,
    found: Vec<Vec<u32>>,
    /// Least greater length.
    next: Option<u32>,
    /// Remaining edges to visit.
    left: u64,
}

impl Search<'_> {
    /// Finds the paths of a length; false if the work limit is reached.
    fn of_length(&mut self, length: u32) -> bool {
        let mut path: Vec<u32> = Vec::new();
        let mut passed = FxHashSet::default();
        // Unvisited nodes above each node of the path, in descending order.
        let mut open: Vec<Vec<u32>> = vec![vec![self.asked]];
        while let Some(top) = open.last_mut() {
            let Some(node) = top.pop() else {
                open.pop();
                path.pop().map(|node| passed.remove(&node));
                continue;
            };
            path.push(node);
            let edges = path.len() as u32 - 1;
            if let Some(above) = begins(self.graph, self.asked, node) {
                if edges + above == length {
                    self.found.push(path.iter().rev().copied().collect());
                    if self.found.len() == self.most {
                        return true;
                    }
                }
                path.pop();
                continue;
            }
            passed.insert(node);
            let Some(above) = self.above(node, edges + 1, length, &passed) else { return false };
            open.push(above);
        }
        true
    }

    /// Nodes above one from which the length can be met, in descending order.
    fn above(&mut self, node: u32, edges: u32, length: u32, passed: &FxHashSet<u32>) -> Option<Vec<u32>> {
        let held_by = self.graph.held_by(node);
        self.left = self.left.checked_sub(held_by.len() as u64 + 1)?;
        let mut above = Vec::new();
        for &(from, _) in held_by {
            let rest = self.rest[from as usize];
            if rest == NEVER || passed.contains(&from) || !may_go(self.graph, self.asked, from, node) {
                continue;
            }
            let least = edges.saturating_add(rest);
            if least > length {
                self.next = Some(self.next.map_or(least, |next| next.min(least)));
            } else {
                above.push(from);
            }
        }
        above.sort_unstable_by(|a, b| b.cmp(a));
        above.dedup();
        Some(above)
    }
}
