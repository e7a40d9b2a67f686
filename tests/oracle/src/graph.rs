//! Naive algorithms on plain directed graphs, without any of V8's rules.
//!
//! Graphs are `n` nodes numbered from zero and a list of edges; self loops and repeated edges are allowed. All
//! functions take time quadratic in the size of the graph or worse.

use std::collections::VecDeque;

use crate::rng::SplitMix64;

/// An edge: source and target.
pub type Arc = (u32, u32);

/// The nodes that the root reaches, optionally without one node.
pub fn reachable(n: usize, edges: &[Arc], root: u32, without: Option<u32>) -> Vec<bool> {
    let successors = successors(n, edges);
    let mut seen = vec![false; n];
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if Some(node) == without || seen[node as usize] {
            continue;
        }
        seen[node as usize] = true;
        stack.extend(&successors[node as usize]);
    }
    seen
}

/// Immediate dominators, straight from the definition.
///
/// d strictly dominates v if v is reachable, but no longer once d is deleted. The dominators of v form a chain, so the
/// closest is the one with the most dominators of its own. Unreachable nodes have `None`, and the root is its own.
pub fn dominators_by_deletion(n: usize, edges: &[Arc], root: u32) -> Vec<Option<u32>> {
    let reached = reachable(n, edges, root, None);
    let mut strict_dominators = vec![Vec::new(); n];
    for d in (0..n as u32).filter(|&d| reached[d as usize]) {
        let still = reachable(n, edges, root, Some(d));
        for v in (0..n).filter(|&v| reached[v] && !still[v] && v != d as usize) {
            strict_dominators[v].push(d);
        }
    }
    let depth = |d: &u32| strict_dominators[*d as usize].len();
    (0..n)
        .map(|v| match reached[v] {
            false => None,
            true if v == root as usize => Some(root),
            true => strict_dominators[v].iter().copied().max_by_key(depth),
        })
        .collect()
}

/// Retained sizes, straight from the definition: the nodes that become unreachable once the node is deleted, itself
/// included. Unreachable nodes retain nothing.
pub fn retained(n: usize, edges: &[Arc], root: u32, sizes: &[u64]) -> Vec<u64> {
    let reached = reachable(n, edges, root, None);
    let freed_by = |d: usize| {
        let still = reachable(n, edges, root, Some(d as u32));
        (0..n).filter(|&v| reached[v] && !still[v]).map(|v| sizes[v]).sum()
    };
    (0..n).map(|d| if reached[d] { freed_by(d) } else { 0 }).collect()
}

/// Numbers of edges on the shortest paths from the root; `None` if there is no path.
pub fn distances(n: usize, edges: &[Arc], root: u32) -> Vec<Option<u32>> {
    let successors = successors(n, edges);
    let mut distance = vec![None; n];
    distance[root as usize] = Some(0);
    let mut queue = VecDeque::from([(root, 0)]);
    while let Some((node, depth)) = queue.pop_front() {
        for &next in &successors[node as usize] {
            if distance[next as usize].is_none() {
                distance[next as usize] = Some(depth + 1);
                queue.push_back((next, depth + 1));
            }
        }
    }
    distance
}

/// Distances over paths that avoid some edges where possible: a second search, over edges of both kinds, starts from
/// the nodes that the first one reached and sets the distances of the others.
pub fn distances_avoiding(n: usize, edges: &[Arc], avoided: &[Arc], root: u32) -> Vec<Option<u32>> {
    let first = distances(n, edges, root);
    let mut all = first.clone();
    loop {
        let mut changed = false;
        for &(from, to) in edges.iter().chain(avoided) {
            let (from, to) = (from as usize, to as usize);
            if let Some(far) = all[from]
                && first[to].is_none()
                && all[to].is_none_or(|distance| distance > far + 1)
            {
                all[to] = Some(far + 1);
                changed = true;
            }
        }
        if !changed {
            return all;
        }
    }
}

/// The targets of every node's edges, in order.
pub fn successors(n: usize, edges: &[Arc]) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); n];
    for &(from, to) in edges {
        lists[from as usize].push(to);
    }
    lists
}

/// A graph of 1 to `n_max` nodes from a seed. The root is node 0.
///
/// Draws one of many styles (trees, acyclic, sparse, dense, chains with back edges, ladders) and then spoils it: self
/// loops, repeated edges, orphans, unreachable cliques.
pub fn random_graph(seed: u64, n_max: usize) -> (usize, Vec<Arc>) {
    let rng = &mut SplitMix64::new(seed);
    let n = 1 + rng.below(n_max.max(1));
    let mut edges = match rng.below(6) {
        0 => tree(rng, n),
        1 => acyclic(rng, n),
        2 => arbitrary(rng, n, n),
        3 => arbitrary(rng, n, 6 * n),
        4 => chain_with_jumps(rng, n),
        _ => ladder(n),
    };
    if rng.one_in(3) {
        edges.extend(arbitrary(rng, n, 3));
    }
    if rng.one_in(3) {
        repeat_some(rng, &mut edges);
    }
    if rng.one_in(3) {
        cut_off_clique(rng, n, &mut edges);
    }
    if rng.one_in(2) {
        rename_all_but_root(rng, n, &mut edges);
    }
    if rng.one_in(2) {
        rng.shuffle(&mut edges);
    }
    (n, edges)
}

fn pick(rng: &mut SplitMix64, n: usize) -> u32 {
    rng.below(n) as u32
}

fn tree(rng: &mut SplitMix64, n: usize) -> Vec<Arc> {
    (1..n).map(|child| (pick(rng, child), child as u32)).collect()
}

fn acyclic(rng: &mut SplitMix64, n: usize) -> Vec<Arc> {
    let forward = |(a, b): Arc| (a != b).then(|| (a.min(b), a.max(b)));
    arbitrary(rng, n, 3 * n).into_iter().filter_map(forward).collect()
}

fn arbitrary(rng: &mut SplitMix64, n: usize, count: usize) -> Vec<Arc> {
    (0..count).map(|_| (pick(rng, n), pick(rng, n))).collect()
}

/// A long chain with edges back and forth: deep dominator trees and many semidominators.
fn chain_with_jumps(rng: &mut SplitMix64, n: usize) -> Vec<Arc> {
    let mut edges: Vec<Arc> = (1..n as u32).map(|v| (v - 1, v)).collect();
    edges.extend(arbitrary(rng, n, n / 3));
    edges
}

/// Two chains with rungs both ways between them: immediate dominators are far from parents.
fn ladder(n: usize) -> Vec<Arc> {
    let mut edges = Vec::new();
    for v in 1..n as u32 {
        edges.push((v.saturating_sub(2), v));
        edges.push((v, v - 1));
        edges.push((v - 1, v));
    }
    edges.retain(|&(from, to)| from != 0 || to <= 2);
    edges
}

fn repeat_some(rng: &mut SplitMix64, edges: &mut Vec<Arc>) {
    let repeated: Vec<Arc> = edges.iter().copied().filter(|_| rng.one_in(4)).collect();
    edges.extend(repeated);
}

/// Makes the upper nodes a clique that no other node refers to, though it may refer outwards.
fn cut_off_clique(rng: &mut SplitMix64, n: usize, edges: &mut Vec<Arc>) {
    let first = (n - rng.below(n.div_ceil(3))).max(1) as u32;
    edges.retain(|&(from, to)| to < first || from >= first);
    for v in first..n as u32 {
        edges.push((v, if v + 1 < n as u32 { v + 1 } else { first }));
    }
}

fn rename_all_but_root(rng: &mut SplitMix64, n: usize, edges: &mut [Arc]) {
    let mut names: Vec<u32> = (0..n as u32).collect();
    rng.shuffle(&mut names[1..]);
    for (from, to) in edges {
        *from = names[*from as usize];
        *to = names[*to as usize];
    }
}
