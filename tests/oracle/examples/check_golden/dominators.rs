//! Dominators fast enough for real snapshots.

use heaplake_oracle::graph::{Arc, successors};

/// Immediate dominators by iteration over the nodes in reverse postorder (Cooper, Harvey and Kennedy,
/// "A Simple, Fast Dominance Algorithm", 2001).
pub(super) fn dominators(n: usize, edges: &[Arc], root: u32) -> Vec<Option<u32>> {
    let postorder = postorder(n, edges, root);
    let mut rank = vec![None; n];
    for (place, &node) in postorder.iter().enumerate() {
        rank[node as usize] = Some(place);
    }
    let backwards: Vec<Arc> = edges.iter().map(|&(from, to)| (to, from)).collect();
    let predecessors = successors(n, &backwards);
    let mut dominator = vec![None; n];
    dominator[root as usize] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for &node in postorder.iter().rev().filter(|&&node| node != root) {
            let known = predecessors[node as usize].iter().copied().filter(|&p| dominator[p as usize].is_some());
            let common = known.reduce(|a, b| common_dominator(&dominator, &rank, a, b));
            changed |= dominator[node as usize] != common;
            dominator[node as usize] = common;
        }
    }
    dominator
}

/// Where the paths of two nodes up the dominator tree meet.
fn common_dominator(dominator: &[Option<u32>], rank: &[Option<usize>], mut a: u32, mut b: u32) -> u32 {
    let up = |node: u32| dominator[node as usize].expect("both have a dominator");
    while a != b {
        if rank[a as usize] < rank[b as usize] {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}

/// The reachable nodes in postorder.
fn postorder(n: usize, edges: &[Arc], root: u32) -> Vec<u32> {
    let successors = successors(n, edges);
    let mut seen = vec![false; n];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root as usize] = true;
    while let Some((node, next)) = stack.pop() {
        let Some(&target) = successors[node as usize].get(next) else {
            order.push(node);
            continue;
        };
        stack.push((node, next + 1));
        if !std::mem::replace(&mut seen[target as usize], true) {
            stack.push((target, 0));
        }
    }
    order
}
