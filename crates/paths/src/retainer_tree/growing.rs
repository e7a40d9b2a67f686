//! A branch to expand, and the keys (pairs of class and label) above it.

use super::walk::{Amount, Instance, Kind, Limits};
use heaplake_schemas::chains::label;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A branch to expand.
pub(super) struct Growing {
    /// Its position; `None` for the instances.
    pub branch: Option<usize>,
    pub level: u32,
    /// Its retainers, ascending.
    pub nodes: Vec<u32>,
    /// Nodes on the branch so far, including `nodes`.
    pub passed: Option<Rc<Passed>>,
    /// Pairs of item and retainer, sorted.
    pub pairs: Vec<(u32, u32)>,
    /// Sum of each item; true if the branch has all its retainers.
    pub items: Vec<(Amount, bool)>,
    /// Sum of all instances of the tree.
    pub all: Amount,
}

impl Growing {
    /// Creates the start of a walk: the instances.
    pub(super) fn seed(instances: &[Instance], limits: &Limits) -> Self {
        let mut nodes: Vec<u32> = instances.iter().map(|instance| instance.node).collect();
        nodes.sort_unstable();
        let amount = |instance: &Instance| Amount {
            count: 1,
            shallow_bytes: instance.shallow_bytes,
            retained_bytes: instance.retained_bytes,
        };
        let pairs = instances.iter().enumerate().map(|(item, instance)| (item as u32, instance.node)).collect();
        let mut all = Amount::default();
        instances.iter().for_each(|instance| all.add(&amount(instance)));
        let passed = (!limits.may_return).then(|| Rc::new(Passed { nodes: nodes.clone(), before: None }));
        let items = instances.iter().map(|instance| (amount(instance), true)).collect();
        Self { branch: None, level: 0, nodes, passed, pairs, items, all }
    }

    /// Number of pairs kept while it waits.
    pub(super) fn waiting(&self) -> usize {
        if self.branch.is_some() { self.pairs.len() } else { 0 }
    }
}

/// Nodes on a branch: those of its last level, ascending, and those before.
pub(super) struct Passed {
    pub nodes: Vec<u32>,
    pub before: Option<Rc<Self>>,
}

impl Passed {
    /// True if the branch contains a node.
    pub(super) fn contains(&self, node: u32) -> bool {
        let mut levels = std::iter::successors(Some(self), |passed| passed.before.as_deref());
        let may = |nodes: &[u32]| nodes.first() <= Some(&node) && nodes.last() >= Some(&node);
        levels.any(|passed| may(&passed.nodes) && passed.nodes.binary_search(&node).is_ok())
    }
}

/// Pairs of class and label, numbered.
#[derive(Default)]
pub(super) struct Keys {
    pub list: Vec<Key>,
    numbers: FxHashMap<(Kind, u32, u32), u32>,
    /// The last pair requested: often repeated.
    last: Option<((Kind, u32, u32), u32)>,
}

/// A pair of class and label.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub kind: Kind,
    pub class: u32,
    pub label: u32,
    pub merged: u64,
    /// The nearest retainer and its distance.
    pub nearest: (i32, u32),
}

impl Keys {
    /// Returns the number of a pair.
    pub(super) fn number(&mut self, kind: Kind, class: u32, label: u32) -> u32 {
        let Self { list, numbers, last } = self;
        let pair = (kind, class, label);
        if let Some((_, number)) = last.filter(|&(known, _)| known == pair) {
            return number;
        }
        let number = *numbers.entry(pair).or_insert_with(|| {
            list.push(Key { kind, class, label, merged: 0, nearest: (i32::MAX, u32::MAX) });
            list.len() as u32 - 1
        });
        *last = Some((pair, number));
        number
    }

    /// Creates a key for the rest.
    pub(super) fn rest(&mut self) -> u32 {
        let nearest = (i32::MAX, u32::MAX);
        self.list.push(Key { kind: Kind::Rest, class: u32::MAX, label: label::NONE, merged: 0, nearest });
        self.list.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_keeps_its_number() {
        let mut keys = Keys::default();
        let pairs = [(Kind::Holder, 1, 2), (Kind::Holder, 1, 2), (Kind::Root, 1, 2), (Kind::Holder, 2, 1)];
        let mut numbers = |pairs: &[(Kind, u32, u32)]| -> Vec<u32> {
            pairs.iter().map(|&(kind, class, label)| keys.number(kind, class, label)).collect()
        };
        assert_eq!(numbers(&pairs), [0, 0, 1, 2]);
        assert_eq!(numbers(&[pairs[3], pairs[0], pairs[0], pairs[2]]), [2, 0, 0, 1]);
        assert_eq!(keys.list.len(), 3);
    }
}
