//! Exclusive instances of a branch of level 1 are those unreachable after its edges are removed: thousands of random
//! graphs with arrays of references, as in a Java heap, against reachability without the edges.

use super::{Case, INSTANCES, ROOM, Told, found, retained};
use heaplake_oracle::graph::{self, Arc};
use heaplake_paths::retainer_tree::Limits;
use heaplake_schemas::chains::label;
use std::collections::BTreeMap;

/// Class of instances, whether the root retains them, class of the holders, and label.
type Key = (u32, u32, u32, u32);

/// Instances, shallow bytes, retained bytes.
type Sum = (u64, u64, u64);

/// Returns objects and arrays of references with unnamed elements. Each pair of class and label has a branch of its
/// own.
fn java(seed: u64) -> Case {
    let mut case = Case::new(seed);
    case.restates = false;
    for edge in &mut case.edges {
        if case.told != Told::Nothing && case.parts[edge.0 as usize] {
            edge.2 = label::INDEX;
        }
    }
    let all: Vec<Arc> = case.holding().iter().map(|&(from, to, _)| (from, to)).collect();
    let far = graph::distances(case.n, &all, 0).into_iter();
    case.distance = far.map(|far| far.map_or(i32::MAX, |far| far as i32)).collect();
    let all = case.n.max(1);
    case.limits = Limits {
        any_level: 3,
        depth: 1,
        kept: 8 * all,
        names: 8 * all,
        light: all as u64,
        may_return: true,
        ..case.limits
    };
    case
}

/// Exclusive sums by branch, by the definition.
fn expected(case: &Case) -> BTreeMap<Key, Sum> {
    let edges = case.holding();
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    for node in (0..case.n as u32).filter(|&node| case.sizes[node as usize] > 0) {
        let key = |&(from, _, label): &(u32, u32, u32)| {
            (case.class[node as usize], u32::from(from == 0), case.class[from as usize], label)
        };
        let into: Vec<_> = edges.iter().filter(|edge| edge.1 == node).collect();
        let mut keys: Vec<Key> = into.iter().map(|edge| key(edge)).collect();
        keys.sort_unstable();
        keys.dedup();
        for one in keys {
            let left = edges.iter().filter(|edge| edge.1 != node || key(edge) != one);
            let left: Vec<Arc> = left.map(|&(from, to, _)| (from, to)).collect();
            if !graph::reachable(case.n, &left, 0, None)[node as usize] {
                let sum = sums.entry(one).or_default();
                let kept = if case.outermost[node as usize] { retained(node as usize) } else { 0 };
                *sum = (sum.0 + 1, sum.1 + case.sizes[node as usize], sum.2 + kept);
            }
        }
    }
    sums
}

#[test]
fn what_is_held_alone_goes_when_the_edges_are_removed() {
    let (mut alone, mut shared) = (0, 0);
    for seed in 0..5000 {
        let case = java(seed);
        let rows = found(&case, INSTANCES, ROOM);
        assert!(rows.iter().all(|row| row.kind < 2 && row.merged == 1 && row.level == 1), "seed {seed}");
        let of = |row: &super::TreeRow| {
            let exclusive = (row.exclusive_count, row.exclusive_shallow_bytes, row.exclusive_retained_bytes);
            ((row.class_id, row.kind, row.holder_class, row.label), exclusive)
        };
        let told: BTreeMap<Key, Sum> = rows.iter().map(of).filter(|one| one.1.0 > 0).collect();
        assert_eq!(told, expected(&case), "seed {seed}");
        alone += rows.iter().filter(|row| row.exclusive_count == row.count).count();
        shared += rows.iter().filter(|row| row.exclusive_count < row.count).count();
    }
    assert!(alone > 5000 && shared > 5000, "{alone} {shared}");
}
