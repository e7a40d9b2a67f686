//! Retainer trees of some instances, by walking up from each instance separately.

use crate::graph::{Arc, reachable};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A labelled edge: source, target, label.
pub type Labelled = (u32, u32, u32);

/// A heap and the instances at which the walk begins.
pub struct Heap<'a> {
    /// The essential edges, those from the root to orphans included.
    pub edges: &'a [Labelled],
    pub root: u32,
    pub class: &'a [u32],
    /// Distance of each node; `i32::MAX` for none.
    pub distance: &'a [i32],
    /// The object that a node is a part of, if any.
    pub owner: &'a [Option<u32>],
    /// Node, shallow and retained size of each instance.
    pub instances: &'a [(u32, u64, u64)],
}

/// Limits of the walk and of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Levels in which retainers that are no nearer to the root count.
    pub any_level: u32,
    pub depth: u32,
    /// Maximum number of branches behind one.
    pub kept: usize,
    /// Maximum number of labels per class.
    pub names: usize,
    /// Branches with less than 1/`light` of all instances and of all retained bytes are light.
    pub light: u64,
    /// Whether instances may be retainers above the first level.
    pub may_return: bool,
    /// The label of merged labels.
    pub any: u32,
    /// The label of the rest.
    pub none: u32,
}

/// Instances, shallow bytes, retained bytes.
pub type Sum = (u64, u64, u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The branch nearer to the instances.
    pub parent: Option<usize>,
    pub level: u32,
    /// 0 for retainers, 1 for the root, 2 for the rest.
    pub kind: u32,
    /// Class of the retainers, and label.
    pub key: (u32, u32),
    /// Merged pairs of class and label.
    pub merged: u64,
    pub holders: BTreeSet<u32>,
    /// Least distance, and the retainer that has it.
    pub nearest: (i32, u32),
    /// Sum of the instances behind which it lies.
    pub held: Sum,
    /// Sum of the instances with no other branch.
    pub exclusive: Sum,
}

/// Retainers of each instance, by the instance's position.
type Holders = BTreeMap<usize, BTreeSet<u32>>;

/// Keys merged into one branch, and its retainers.
type Group = (Vec<(u32, u32, u32)>, Holders);

/// The tree in preorder.
pub fn tree(heap: &Heap<'_>, bounds: &Bounds) -> Vec<Branch> {
    let n = heap.class.len();
    let plain: Vec<Arc> = heap.edges.iter().map(|&(from, to, _)| (from, to)).collect();
    let without = (0..n as u32).map(|node| reachable(n, &plain, heap.root, Some(node))).collect();
    let reached = reachable(n, &plain, heap.root, None);
    let walk = Walk { heap, bounds, without, reached };
    let holders: Holders = heap.instances.iter().enumerate().map(|(at, one)| (at, BTreeSet::from([one.0]))).collect();
    let passed = heap.instances.iter().map(|one| one.0).filter(|_| !bounds.may_return).collect();
    let mut branches = Vec::new();
    walk.behind(None, &holders, &(0..heap.instances.len()).collect(), &passed, &mut branches);
    branches
}

struct Walk<'a> {
    heap: &'a Heap<'a>,
    bounds: &'a Bounds,
    /// The nodes reachable from the root without each node.
    without: Vec<Vec<bool>>,
    reached: Vec<bool>,
}

impl Walk<'_> {
    fn sum(&self, instances: impl Iterator<Item = usize>) -> Sum {
        instances
            .map(|at| self.heap.instances[at])
            .fold((0, 0, 0), |sum, one| (sum.0 + 1, sum.1 + one.1, sum.2 + one.2))
    }

    fn is_heavy(&self, sum: Sum) -> bool {
        let all = self.sum(0..self.heap.instances.len());
        let part = |part: u64, all: u64| part > 0 && part * self.bounds.light >= all;
        part(sum.0, all.0) || part(sum.2, all.2)
    }

    fn follows(&self, held: u32, holder: u32, level: u32) -> bool {
        let far = |node: u32| self.heap.distance[node as usize];
        let dominated = self.reached[holder as usize] && !self.without[held as usize][holder as usize];
        let holds = |other: u32| self.heap.edges.iter().any(|edge| (edge.0, edge.1) == (other, held));
        let owner = self.heap.owner[holder as usize];
        match () {
            // The owner of a part represents it.
            () if owner.is_some_and(|owner| owner != held && holds(owner)) => false,
            // The root has no retainer.
            () if holder == held || held == self.heap.root => false,
            () if holder == self.heap.root => true,
            () if !self.reached[holder as usize] => false,
            () if level > 0 && far(held) <= 1 => false,
            () if far(holder) < far(held) => true,
            () => level < self.bounds.any_level && !dominated,
        }
    }

    fn nearest(&self, group: &Group) -> (i32, u32) {
        group.1.values().flatten().map(|&node| (self.heap.distance[node as usize], node)).min().unwrap_or_default()
    }

    fn rank(&self, group: &Group) -> impl Ord + use<> {
        let sum = self.sum(group.1.keys().copied());
        (Reverse(sum.0), Reverse(sum.2), self.nearest(group), group.0[0])
    }

    /// Adds the branches behind a branch, recursively.
    fn behind(
        &self,
        parent: Option<usize>,
        nodes: &Holders,
        alone: &BTreeSet<usize>,
        passed: &BTreeSet<u32>,
        branches: &mut Vec<Branch>,
    ) {
        let level = parent.map_or(0, |at| branches[at].level);
        if level == self.bounds.depth {
            return;
        }
        let mut keys: BTreeMap<(u32, u32, u32), Holders> = BTreeMap::new();
        for (&instance, held) in nodes {
            for &(from, to, label) in self.heap.edges {
                if held.contains(&to) && !passed.contains(&from) && self.follows(to, from, level) {
                    let key = (u32::from(from == self.heap.root), self.heap.class[from as usize], label);
                    keys.entry(key).or_default().entry(instance).or_default().insert(from);
                }
            }
        }
        let groups = self.shown(keys.into_iter().map(|(key, holders)| (vec![key], holders)).collect());
        let holding = |instance: usize| groups.iter().filter(|(_, group)| group.1.contains_key(&instance)).count();
        for (kind, group) in &groups {
            let exclusive: BTreeSet<usize> =
                group.1.keys().copied().filter(|&at| alone.contains(&at) && holding(at) == 1).collect();
            let at = branches.len();
            let holders: BTreeSet<u32> = group.1.values().flatten().copied().collect();
            let nearest = self.nearest(group);
            let is_rest = *kind == 2;
            let label = if group.0.len() > 1 { self.bounds.any } else { group.0[0].2 };
            branches.push(Branch {
                parent,
                level: level + 1,
                kind: *kind,
                key: match is_rest {
                    true => (self.heap.class[nearest.1 as usize], self.bounds.none),
                    false => (group.0[0].1, label),
                },
                merged: group.0.len() as u64,
                nearest,
                held: self.sum(group.1.keys().copied()),
                exclusive: self.sum(exclusive.iter().copied()),
                holders: holders.clone(),
            });
            if *kind == 0 {
                let passed = passed.union(&holders).copied().collect();
                self.behind(Some(at), &group.1, &exclusive, &passed, branches);
            }
        }
    }

    /// The branches with a row: their kinds and contents, in order.
    fn shown(&self, all: Vec<Group>) -> Vec<(u32, Group)> {
        let classes: BTreeSet<u32> = all.iter().filter(|group| group.0[0].0 == 0).map(|group| group.0[0].1).collect();
        let (mut groups, others): (Vec<Group>, Vec<Group>) = all.into_iter().partition(|group| group.0[0].0 == 1);
        for class in classes {
            let mut of_class: Vec<Group> = others.iter().filter(|group| group.0[0].1 == class).cloned().collect();
            of_class.sort_by_key(|group| self.rank(group));
            let heavy = |group: &Group| self.is_heavy(self.sum(group.1.keys().copied()));
            let (mut stay, mut light) = (Vec::new(), Vec::new());
            for group in of_class {
                if heavy(&group) && stay.len() < self.bounds.names { stay.push(group) } else { light.push(group) }
            }
            groups.extend(stay);
            if !light.is_empty() {
                groups.push(union(light));
            }
        }
        // Merged labels have the label for any.
        groups.sort_by_key(|group| {
            let (is_root, class, label) = group.0[0];
            let label = if group.0.len() > 1 { self.bounds.any } else { label };
            (self.rank(&(vec![(0, 0, 0)], group.1.clone())), class, label, is_root)
        });
        let (mut shown, mut rest) = (Vec::new(), Vec::new());
        for group in groups {
            let is_heavy = self.is_heavy(self.sum(group.1.keys().copied()));
            if is_heavy && shown.len() < self.bounds.kept {
                shown.push((group.0[0].0, group));
            } else {
                rest.push(group);
            }
        }
        if !rest.is_empty() {
            shown.push((2, union(rest)));
        }
        shown
    }
}

/// Merges all groups into one.
fn union(groups: Vec<Group>) -> Group {
    let (mut keys, mut holders) = (Vec::new(), Holders::new());
    for (more, of_instance) in groups {
        keys.extend(more);
        for (instance, nodes) in of_instance {
            holders.entry(instance).or_default().extend(nodes);
        }
    }
    (keys, holders)
}
