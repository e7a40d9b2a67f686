//! Property tests: queries about all holders on random graphs equal naive walks.

use crate::graph::Graph;
use crate::holders::tree;
use crate::paths::paths;
use heaplake_oracle::SplitMix64;
use heaplake_oracle::graph;
use heaplake_oracle::retainer_trees::{self, Bounds, Heap, Labelled};
use heaplake_paths::retainer_tree::Limits;
use heaplake_schemas::chains::label;

/// A graph with root 0, which reaches every node unless distances contradict.
struct Case {
    n: usize,
    edges: Vec<Labelled>,
    distance: Vec<i32>,
    class: Vec<u32>,
    parts: Vec<bool>,
    dominator: Vec<u32>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let (n, mut arcs) = graph::random_graph(seed, 9);
        arcs.retain(|(from, to)| from != to);
        let rng = &mut SplitMix64::new(seed ^ 0x5eed);
        for node in 1..n as u32 {
            if !graph::reachable(n, &arcs, 0, None)[node as usize] {
                arcs.push((0, node));
            }
        }
        let measured = graph::distances(n, &arcs, 0).into_iter().map(|far| far.map_or(i32::MAX, |far| far as i32));
        // Real distances come from other edges too, so any number is possible.
        let distance = match rng.one_in(2) {
            true => (0..n).map(|_| if rng.one_in(9) { i32::MAX } else { rng.below(5) as i32 }).collect(),
            false => measured.collect(),
        };
        let label = |rng: &mut SplitMix64| if rng.one_in(4) { label::INDEX } else { rng.below(3) as u32 };
        Self {
            n,
            edges: arcs.iter().map(|&(from, to)| (from, to, label(rng))).collect(),
            distance,
            class: (0..n).map(|_| rng.below(3) as u32).collect(),
            parts: (0..n).map(|_| rng.one_in(4)).collect(),
            dominator: graph::dominators_by_deletion(n, &arcs, 0).into_iter().map(|one| one.unwrap_or(0)).collect(),
        }
    }

    fn graph(&self) -> Graph {
        let Self { edges, distance, class, parts, dominator, .. } = self;
        Graph::of(edges, distance.clone(), class.clone(), parts.clone(), dominator.clone())
    }

    fn holds(&self, from: u32, to: u32) -> bool {
        self.edges.iter().any(|edge| (edge.0, edge.1) == (from, to))
    }

    /// All extensions of a path, which is given from the object up, with their lengths.
    fn enumerate(&self, path: &mut Vec<u32>, found: &mut Vec<(usize, Vec<u32>)>) {
        let top = path[path.len() - 1];
        let is_first = path.len() > 1 && self.distance[top as usize] <= 1;
        let by_root = self.distance[0] == 0 && self.holds(0, top);
        if top == 0 || (is_first && !by_root) {
            found.push((path.len() - usize::from(top == 0), path.clone()));
            return;
        }
        for above in (0..self.n as u32).filter(|&above| self.holds(above, top)) {
            let is_known = self.distance[above as usize] != i32::MAX && (!is_first || above == 0);
            if is_known && !path.contains(&above) {
                path.push(above);
                self.enumerate(path, found);
                path.pop();
            }
        }
    }
}

#[test]
fn paths_are_the_shortest_of_all_simple_ones() {
    let (mut several, mut longest) = (0, 0);
    for seed in 0..8000 {
        let case = Case::new(seed);
        let graph = case.graph();
        let node = (seed / 7 % case.n as u64) as u32;
        let mut expected = Vec::new();
        case.enumerate(&mut vec![node], &mut expected);
        expected.sort();
        let all: Vec<Vec<u32>> = expected.iter().map(|(_, path)| path.iter().rev().copied().collect()).collect();
        assert_eq!(paths(&graph, node, usize::MAX), (all.clone(), true), "seed {seed}");
        for most in [1, 2, 5] {
            let first: Vec<_> = all.iter().take(most).cloned().collect();
            assert_eq!(paths(&graph, node, most), (first, true), "seed {seed}, {most} paths");
        }
        several += u32::from(all.len() > 3);
        longest = longest.max(all.last().map_or(0, Vec::len));
    }
    assert!(several > 500 && longest > 7, "{several} {longest}");
}

#[test]
fn the_tree_of_an_object_equals_a_walk_from_it() {
    let (mut alone, mut shared, mut deepest) = (0, 0, 0);
    for seed in 0..4000 {
        let case = Case::new(seed);
        let node = (seed / 7 % case.n as u64) as u32;
        let Limits { any_level, depth, kept, names, light, may_return, branches, .. } = Limits::OF_AN_OBJECT;
        let bounds = Bounds { any_level, depth, kept, names, light, may_return, any: label::ANY, none: label::NONE };
        let up = |&at: &u32| Some(case.dominator[at as usize]);
        let owner = |node: u32| {
            let mut above = std::iter::successors(Some(node), up).take(8);
            above.find(|&at| at == 0 || !case.parts[at as usize]).filter(|&at| at != node)
        };
        let owners: Vec<Option<u32>> = (0..case.n as u32).map(owner).collect();
        let heap = Heap {
            edges: &case.edges,
            root: 0,
            class: &case.class,
            distance: &case.distance,
            owner: &owners,
            instances: &[(node, 0, 0)],
        };
        let expected = retainer_trees::tree(&heap, &bounds);
        if expected.iter().filter(|branch| branch.kind == 0).count() >= branches {
            continue;
        }
        let mut graph = case.graph();
        let expected: Vec<_> = expected
            .iter()
            .map(|branch| {
                let is_rest = branch.kind == 2;
                let class = (!is_rest).then(|| branch.key.0.to_string());
                let edge = if is_rest { None } else { graph.label(branch.key.1).map(str::to_owned) };
                let kind = ["holder", "root", "rest"][branch.kind as usize];
                let holders = branch.holders.len() as u64;
                (branch.level, kind, class, edge, holders, branch.nearest.1, branch.exclusive.0 > 0)
            })
            .collect();
        let found: Vec<_> = tree(&mut graph, node)
            .unwrap()
            .into_iter()
            .map(|one| (one.level, one.kind, one.class, one.edge, one.holders, one.node, one.alone))
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        alone += found.iter().filter(|branch| branch.6).count();
        shared += found.iter().filter(|branch| !branch.6).count();
        deepest = deepest.max(found.iter().map(|branch| branch.0).max().unwrap_or(0));
    }
    assert!(alone > 1000 && shared > 1000 && deepest > 4, "{alone} {shared} {deepest}");
}
