//! The shortest paths to one object, one by one.
//!
//! A path begins at the root, or at a node at distance 1 that the root is not known to hold, as a user root; then the
//! edge from the root counts although the input does not state it. It has no node twice. Paths come by their length, those of one
//! length in the order of their nodes from the object up.
//!
//! For each length, a depth-first search grows paths upward and leaves what cannot end with this length: a search
//! downward told the least number of edges from the root to each node before. What was left tells the next length.

use crate::graph::Graph;
use rustc_hash::FxHashSet;

/// Edges that are looked at, at most.
const WORK: u64 = 1 << 24;

/// No path leads to a node.
const NEVER: u32 = u32::MAX;

/// The shortest paths to a node, each from its upper end, `most` of them or fewer; and whether there are no more, or as
/// many as asked for. Resident memory: 12 bytes for each node, 4 for each edge.
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

/// Whether paths to `asked` begin at a node, and how many edges they have above it.
fn begins(graph: &Graph, asked: u32, node: u32) -> Option<u32> {
    match node {
        _ if node == graph.root => Some(0),
        _ if node != asked && graph.far(node) <= 1 && !is_of_root(graph, node) => Some(1),
        _ => None,
    }
}

/// Whether the root, at distance 0, holds a node.
fn is_of_root(graph: &Graph, node: u32) -> bool {
    graph.far(graph.root) == 0 && graph.held_by(node).iter().any(|edge| edge.0 == graph.root)
}

/// Whether a path to `asked` may go from one node to another.
fn may_go(graph: &Graph, asked: u32, from: u32, to: u32) -> bool {
    // A node that the root holds is reached from there.
    let is_first = to != asked && graph.far(to) <= 1;
    graph.far(from) != i32::MAX && (!is_first || from == graph.root)
}

/// The least number of edges from the root to each node.
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
    // Afterwards the place of each node is the end of its edges, which is where those of the next began.
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

/// A search for paths of one length.
struct Search<'a> {
    graph: &'a Graph,
    rest: &'a [u32],
    asked: u32,
    most: usize,
    found: Vec<Vec<u32>>,
    /// The least length that is longer.
    next: Option<u32>,
    /// Edges that may be looked at.
    left: u64,
}

impl Search<'_> {
    /// Finds those of a length; false where that was too much work.
    fn of_length(&mut self, length: u32) -> bool {
        let mut path: Vec<u32> = Vec::new();
        let mut passed = FxHashSet::default();
        // What is above the nodes of the path and not yet looked into, the least last.
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

    /// The nodes above one from where the length can be kept, in descending order.
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
