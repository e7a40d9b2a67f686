//! Duplicate instances in small graphs, straight from the definition.
//!
//! Two nodes are duplicates if a one-to-one map between the nodes reachable from each takes one to the other, respects
//! values and slot labels, and maps nodes compared by identity to themselves. Slots of a node have distinct labels, so
//! there is at most one candidate map: following equal labels from both nodes at once finds it, then it is checked.

pub mod random;
pub mod v8;

use std::collections::{BTreeMap, BTreeSet};

/// A slot of a node: its edge with one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Label, distinct among the slots of a node.
    pub label: u32,
    pub to: usize,
    /// Whether the target is compared by identity and not descended into.
    pub identity: bool,
}

/// A node: everything comparable about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Number that encodes everything except references.
    pub value: u32,
    pub bytes: u64,
    /// References, ascending by label.
    pub slots: Vec<Slot>,
}

/// A graph with roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EqualityGraph {
    /// The nodes. The value determines the size.
    pub nodes: Vec<Node>,
    /// Nodes retained from outside.
    pub roots: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set {
    /// Members, ascending, at least two.
    pub members: Vec<usize>,
    /// Whether members have no slots to descend into.
    pub trivial: bool,
    /// Bytes of all nodes reachable from the members, without those reachable from one of them.
    pub additional: u64,
    /// Least member of the nearest other set that dominates this one: without its members no root reaches a member.
    pub held_by: Option<usize>,
}

impl EqualityGraph {
    /// Nodes reachable from a node over slots not compared by identity, itself included.
    pub fn reached(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for slot in self.nodes[node].slots.iter().filter(|slot| !slot.identity) {
                if reached.insert(slot.to) {
                    open.push(slot.to);
                }
            }
        }
        reached
    }

    /// The map that makes two nodes duplicates, if there is one.
    pub fn matching(&self, left: usize, right: usize) -> Option<BTreeMap<usize, usize>> {
        let mut map = BTreeMap::from([(left, right)]);
        let mut open = vec![(left, right)];
        while let Some((a, b)) = open.pop() {
            let (a, b) = (&self.nodes[a], &self.nodes[b]);
            if a.value != b.value || a.bytes != b.bytes || a.slots.len() != b.slots.len() {
                return None;
            }
            for (s, t) in a.slots.iter().zip(&b.slots) {
                if s.label != t.label || s.identity != t.identity || (s.identity && s.to != t.to) {
                    return None;
                }
                if s.identity {
                    continue;
                }
                match map.get(&s.to) {
                    Some(&known) if known == t.to => {}
                    Some(_) => return None,
                    None => {
                        map.insert(s.to, t.to);
                        open.push((s.to, t.to));
                    }
                }
            }
        }
        let images: BTreeSet<usize> = map.values().copied().collect();
        (images.len() == map.len()).then_some(map)
    }

    /// All sets of duplicates, ascending by their members.
    pub fn sets(&self) -> Vec<Set> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for node in 0..self.nodes.len() {
            match groups.iter_mut().find(|group| self.matching(group[0], node).is_some()) {
                Some(group) => group.push(node),
                None => groups.push(vec![node]),
            }
        }
        groups.retain(|group| group.len() > 1);
        let set = |members: &Vec<usize>| Set {
            members: members.clone(),
            trivial: self.nodes[members[0]].slots.iter().all(|slot| slot.identity),
            additional: self.additional(members),
            held_by: self.holder(members, &groups),
        };
        groups.iter().map(set).collect()
    }

    fn bytes(&self, nodes: &BTreeSet<usize>) -> u64 {
        nodes.iter().map(|&node| self.nodes[node].bytes).sum()
    }

    fn additional(&self, members: &[usize]) -> u64 {
        let all: BTreeSet<usize> = members.iter().flat_map(|&member| self.reached(member)).collect();
        self.bytes(&all) - self.bytes(&self.reached(members[0]))
    }

    /// Merges duplicates into the first one: maps each node that is no longer needed to its replacement, the least one.
    pub fn replaced(&self, members: &[usize]) -> BTreeMap<usize, usize> {
        let stay = self.reached(members[0]);
        let mut replaced = BTreeMap::new();
        for &member in &members[1..] {
            for (stays, goes) in self.matching(members[0], member).into_iter().flatten() {
                if !stay.contains(&goes) {
                    let by = replaced.entry(goes).or_insert(stays);
                    *by = stays.min(*by);
                }
            }
        }
        replaced
    }

    /// Nodes reachable from the roots, over slots of every kind, without the avoided nodes.
    pub fn reached_without(&self, avoided: &[usize]) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = self.roots.clone();
        while let Some(node) = open.pop() {
            if !avoided.contains(&node) && reached.insert(node) {
                open.extend(self.nodes[node].slots.iter().map(|slot| slot.to));
            }
        }
        reached
    }

    /// Whether every path from a root to a member of `held` passes a member of `by`.
    pub fn holds(&self, by: &[usize], held: &[usize]) -> bool {
        let reached = self.reached_without(by);
        held.iter().all(|member| !reached.contains(member))
    }

    fn holder(&self, members: &[usize], groups: &[Vec<usize>]) -> Option<usize> {
        let holders: Vec<&Vec<usize>> =
            groups.iter().filter(|group| group[..] != *members && self.holds(group, members)).collect();
        let nearest = holders.iter().find(|near| holders.iter().all(|other| other == *near || self.holds(other, near)));
        nearest.map(|group| group[0])
    }
}
