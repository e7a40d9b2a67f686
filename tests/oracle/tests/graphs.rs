//! Plain graphs: answers worked out by hand, and properties implied by the definitions.

#[path = "../examples/check_golden/dominators.rs"]
mod fast;

use heaplake_oracle::graph::{distances, dominators_by_deletion, random_graph, reachable, retained};
use heaplake_oracle::strategies;
use proptest::prelude::*;

/// Number of nodes, and edges.
type Graph = (usize, Vec<(u32, u32)>);

#[test]
fn diamond() {
    //     0
    //    / \
    //   1   2     3 has two ways up, so only 0 dominates it; 4 hangs on 3 alone.
    //    \ /
    //     3 - 4
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
    assert_eq!(dominators_by_deletion(5, &edges, 0), [Some(0), Some(0), Some(0), Some(0), Some(3)]);
    assert_eq!(retained(5, &edges, 0, &[1, 2, 4, 8, 16]), [31, 2, 4, 24, 16]);
    assert_eq!(distances(5, &edges, 0), [Some(0), Some(1), Some(1), Some(2), Some(3)]);
}

#[test]
fn loops_and_repetitions_change_nothing() {
    let edges = [(0, 0), (0, 1), (0, 1), (1, 1), (1, 2), (2, 1), (2, 0)];
    assert_eq!(dominators_by_deletion(3, &edges, 0), [Some(0), Some(0), Some(1)]);
    assert_eq!(retained(3, &edges, 0, &[1, 1, 1]), [3, 2, 1]);
}

#[test]
fn what_the_root_does_not_reach_has_no_answers() {
    // 2 and 3 refer to each other and to 1, which does not matter.
    let edges = [(0, 1), (2, 3), (3, 2), (3, 1)];
    assert_eq!(dominators_by_deletion(4, &edges, 0), [Some(0), Some(0), None, None]);
    assert_eq!(retained(4, &edges, 0, &[1, 1, 1, 1]), [2, 1, 0, 0]);
    assert_eq!(distances(4, &edges, 0), [Some(0), Some(1), None, None]);
}

#[test]
fn any_node_can_be_the_root() {
    let edges = [(2, 0), (0, 1)];
    assert_eq!(dominators_by_deletion(3, &edges, 2), [Some(2), Some(0), Some(2)]);
}

/// Invariants of dominators, retained sizes and distances, and agreement with a second algorithm.
fn check(n: usize, edges: &[(u32, u32)]) {
    let dominators = dominators_by_deletion(n, edges, 0);
    assert_eq!(fast::dominators(n, edges, 0), dominators);

    let sizes: Vec<u64> = (0..n as u64).map(|v| v + 1).collect();
    let retained = retained(n, edges, 0, &sizes);
    let distances = distances(n, edges, 0);
    let reached = reachable(n, edges, 0, None);
    for v in 0..n {
        assert_eq!(dominators[v].is_some(), reached[v]);
        assert_eq!(distances[v].is_some(), reached[v]);
        // A node retains itself and its children's retained sizes.
        let children = (1..n).filter(|&child| dominators[child] == Some(v as u32));
        let below: u64 = children.map(|child| retained[child]).sum();
        assert_eq!(retained[v], if reached[v] { sizes[v] + below } else { 0 });
    }
    for &(from, to) in edges {
        let (from, to) = (distances[from as usize], distances[to as usize]);
        assert!(from.is_none_or(|from| to.is_some_and(|to| to <= from + 1)));
    }
}

#[test]
fn seeded_graphs() {
    for seed in 0..2000 {
        let (n, edges) = random_graph(seed, 30);
        check(n, &edges);
    }
}

#[test]
fn seeds_make_graphs_of_all_kinds() {
    let graphs: Vec<Graph> = (0..500).map(|seed| random_graph(seed, 30)).collect();
    let count = |is: fn(&Graph) -> bool| graphs.iter().filter(|g| is(g)).count();
    assert!(count(|(n, _)| *n == 1) > 5);
    assert!(count(|(_, edges)| edges.is_empty()) > 5);
    assert!(count(|(n, edges)| edges.len() > 4 * n) > 50);
    assert!(count(|(_, edges)| edges.iter().any(|(from, to)| from == to)) > 50);
    assert!(count(|(n, edges)| reachable(*n, edges, 0, None).contains(&false)) > 50);
    assert!(count(|(n, edges)| !reachable(*n, edges, 0, None).contains(&false)) > 50);
    assert_eq!(random_graph(7, 30), random_graph(7, 30));
}

proptest! {
    #[test]
    fn drawn_graphs((n, edges) in strategies::graphs(12, 3)) {
        check(n, &edges);
    }
}
