//! The example graphs of the document that defines duplicates, with its numbers, and graphs that are hard for simpler
//! algorithms.

use crate::properties::{Bench, all};
use heaplake_oracle::duplicates::{EqualityGraph, Node, Set, Slot};

/// Returns a graph of references between nodes numbered from 1, as in the pictures; node 0 is a root that refers to
/// `roots`. `values` lists nodes with other values than the default.
fn picture(nodes: usize, references: &[(usize, usize)], roots: &[usize], values: &[(usize, u32)]) -> EqualityGraph {
    let mut graph = EqualityGraph { nodes: vec![Node::default(); nodes + 1], roots: roots.to_vec() };
    graph.nodes[0].value = 3;
    for &(node, value) in values {
        graph.nodes[node].value = value;
    }
    for (i, node) in graph.nodes.iter_mut().enumerate().skip(1) {
        // Nodes of one kind have one size.
        node.bytes = [10, 100, 1000][node.value as usize % 3];
        let targets = references.iter().filter(|&&(from, _)| from == i).map(|&(_, to)| to);
        node.slots = targets.enumerate().map(|(i, to)| Slot { label: i as u32, to, identity: false }).collect();
    }
    graph.roots.push(0);
    graph
}

fn sets(graph: &EqualityGraph) -> Vec<Set> {
    let mut sets: Vec<Set> =
        Bench::new(graph, 64 << 20).run(&all(u64::MAX)).into_iter().map(|found| found.set).collect();
    sets.sort();
    assert_eq!(sets, graph.sets(), "the definition says so, too");
    sets
}

fn members(sets: &[Set]) -> Vec<&[usize]> {
    sets.iter().map(|set| &set.members[..]).collect()
}

#[test]
fn instances_with_matching_graphs_are_duplicates() {
    // #1 -> #3, #4 and #2 -> #5, #6: #1 corresponds to #2, #3 to #5, #4 to #6.
    let graph = picture(6, &[(1, 3), (1, 4), (2, 5), (2, 6)], &[1, 2], &[(3, 1), (5, 1), (4, 2), (6, 2)]);
    assert_eq!(members(&sets(&graph)), [&[1, 2][..], &[3, 5], &[4, 6]]);
}

#[test]
fn a_shared_instance_is_matched_with_itself() {
    let graph = picture(4, &[(1, 3), (1, 4), (2, 3), (2, 4)], &[1, 2], &[(3, 1), (4, 2)]);
    assert_eq!(members(&sets(&graph)), [&[1, 2][..]]);
}

#[test]
fn an_owner_that_is_reached_again_rules_a_duplicate_out() {
    // Both refer to #3, whose owner is #1.
    let graph = picture(3, &[(1, 3), (2, 3), (3, 1)], &[1, 2], &[(3, 1)]);
    assert!(sets(&graph).is_empty());
    // With an own instance that refers back to it, #2 is a duplicate.
    let graph = picture(4, &[(1, 3), (2, 4), (3, 1), (4, 2)], &[1, 2], &[(3, 1), (4, 1)]);
    assert_eq!(members(&sets(&graph)), [&[1, 2][..], &[3, 4]]);
}

#[test]
fn additional_bytes_are_those_of_the_merged_graph() {
    // #1, #2 and #3 with #4, #5 and #6; #4 and #5 with #7, #6 with #8: #2, #3, #5, #6 and #8 are additional.
    let references = [(1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 8)];
    let graph = picture(8, &references, &[1, 2, 3], &[(4, 1), (5, 1), (6, 1), (7, 2), (8, 2)]);
    let sets = sets(&graph);
    assert_eq!(members(&sets), [&[1, 2, 3][..], &[4, 5, 6], &[7, 8]]);
    assert_eq!(sets[0].additional, 2 * 10 + 2 * 100 + 1000);
    assert_eq!((sets[1].additional, sets[2].additional), (2 * 100 + 1000, 1000));
    // The document lists #2, #3, #5, #6 and #8, each with its replacement.
    let found = Bench::new(&graph, 64 << 20).run(&all(u64::MAX));
    let merged = found.iter().find(|found| found.set.members == [1, 2, 3]).unwrap();
    assert_eq!(merged.replaced.iter().collect::<Vec<_>>(), [(&2, &1), (&3, &1), (&5, &4), (&6, &4), (&8, &7)]);
}

#[test]
fn a_set_is_held_by_the_one_that_all_ways_pass() {
    // #1, #2 and #3 dominate #4, #5 and #6; #4 and #5 refer to #7 and #6 to #8, but a root refers to #8 as well.
    let references = [(1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 8)];
    let graph = picture(8, &references, &[1, 2, 3, 8], &[(4, 1), (5, 1), (6, 1), (7, 2), (8, 2)]);
    let sets = sets(&graph);
    assert_eq!(members(&sets), [&[1, 2, 3][..], &[4, 5, 6], &[7, 8]]);
    assert_eq!([sets[0].held_by, sets[1].held_by, sets[2].held_by], [None, Some(1), None]);
}

#[test]
fn equal_parts_are_not_one_part_twice() {
    // A -> (B1, B2) and A' -> (B, B).
    let graph = picture(5, &[(1, 3), (1, 4), (2, 5), (2, 5)], &[1, 2], &[(3, 1), (4, 1), (5, 1)]);
    assert_eq!(members(&sets(&graph)), [&[3, 4, 5][..]]);
}

/// Checks that the near-linear stages decide a graph without comparing any pair.
fn settled_without_work(graph: &EqualityGraph, sets: usize) {
    let found = Bench::new(graph, 256 << 20).run(&all(0));
    assert_eq!(found.len(), sets);
    assert!(found.iter().all(|found| found.reasons == 0 && found.additional_exact));
}

/// Returns a graph of nodes with these values and targets. A root refers to all nodes.
fn graph(nodes: impl IntoIterator<Item = (u32, Vec<usize>)>) -> EqualityGraph {
    let node = |(value, targets): (u32, Vec<usize>)| {
        let slot = |(i, to): (usize, usize)| Slot { label: i as u32, to, identity: false };
        Node { value, bytes: 16 + u64::from(value), slots: targets.into_iter().enumerate().map(slot).collect() }
    };
    let nodes: Vec<Node> = nodes.into_iter().map(node).collect();
    EqualityGraph { roots: (0..nodes.len()).collect(), nodes }
}

/// Returns two lists of equal elements with references in both directions; each list is a cycle.
fn double_lists(length: usize) -> EqualityGraph {
    let both = |i: usize| match i % length {
        0 => (1, vec![i + 1]),
        last if last == length - 1 => (2, vec![i - 1]),
        _ => (0, vec![i + 1, i - 1]),
    };
    graph((0..2 * length).map(both))
}

#[test]
fn long_lists_take_no_rounds() {
    const LENGTH: usize = 200_000;
    // Two lists of equal elements: one set per position, counted from the end.
    let next = |i: usize| if i % LENGTH == LENGTH - 1 { vec![] } else { vec![i + 1] };
    settled_without_work(&graph((0..2 * LENGTH).map(|i| (0, next(i)))), LENGTH);
    settled_without_work(&double_lists(LENGTH), LENGTH);
}

#[test]
fn paging_changes_nothing() {
    // 800,000 nodes of 57 bytes each exceed the small budget, and so do the sets.
    const SMALL: u64 = 34 << 20;
    let graph = double_lists(400_000);
    let (large, small) = (Bench::new(&graph, 256 << 20), Bench::new(&graph, SMALL));
    assert_eq!(small.run(&all(0)), large.run(&all(0)));
    assert!(large.peak() > SMALL);
}

#[test]
fn a_large_shared_graph_is_not_looked_into_for_each_that_refers_to_it() {
    const SHARED: usize = 100_000;
    const OBJECTS: usize = 100_000;
    // A tree of settings, then objects that refer to it and have a private part.
    let shared = (0..SHARED).map(|i| {
        let below = [2 * i + 1, 2 * i + 2].into_iter().filter(|&below| below < SHARED).collect();
        (i as u32 % 3, below)
    });
    let objects = (0..2 * OBJECTS).map(|i| match i % 2 {
        0 => (1, vec![0, SHARED + i + 1]),
        _ => (2, vec![]),
    });
    let graph = graph(shared.chain(objects));
    let found = Bench::new(&graph, 256 << 20).run(&all(0));
    assert!(found.iter().all(|found| found.reasons == 0));
    assert!(found.iter().any(|found| found.set.members.len() == OBJECTS && !found.set.trivial));
}
