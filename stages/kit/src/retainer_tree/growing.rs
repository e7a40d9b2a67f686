//! A branch on its way, and the pairs of class and label behind it.

use super::walk::{Amount, Instance, Kind, Limits};
use heaplake_schemas::chains::label;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A branch that is to be walked further.
pub(super) struct Growing {
    /// Its position; nothing for the instances.
    pub branch: Option<usize>,
    pub level: u32,
    /// Its holders, ascending.
    pub nodes: Vec<u32>,
    /// Nodes that the branch has passed, these included.
    pub passed: Option<Rc<Passed>>,
    /// Items and holders, in order.
    pub pairs: Vec<(u32, u32)>,
    /// What an item sums to, and whether nothing outside the branch holds it.
    pub items: Vec<(Amount, bool)>,
    /// All instances of the tree.
    pub all: Amount,
}

impl Growing {
    /// The instances, from which a walk begins.
    pub fn seed(instances: &[Instance], limits: &Limits) -> Self {
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

    /// Pairs that it keeps while it waits.
    pub fn waiting(&self) -> usize {
        if self.branch.is_some() { self.pairs.len() } else { 0 }
    }
}

/// Nodes that a branch has passed: those of its last level, ascending, and those before.
pub(super) struct Passed {
    pub nodes: Vec<u32>,
    pub before: Option<Rc<Self>>,
}

impl Passed {
    /// Whether the branch has passed a node.
    pub fn contains(&self, node: u32) -> bool {
        let mut levels = std::iter::successors(Some(self), |passed| passed.before.as_deref());
        let may = |nodes: &[u32]| nodes.first() <= Some(&node) && nodes.last() >= Some(&node);
        levels.any(|passed| may(&passed.nodes) && passed.nodes.binary_search(&node).is_ok())
    }
}

/// Pairs of class and label, by number.
#[derive(Default)]
pub(super) struct Keys {
    pub list: Vec<Key>,
    numbers: FxHashMap<(Kind, u32, u32), u32>,
    /// The pair that was asked for last: often the next one is the same.
    last: Option<((Kind, u32, u32), u32)>,
}

/// A pair of class and label.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub kind: Kind,
    pub class: u32,
    pub label: u32,
    pub merged: u64,
    /// Distance of the nearest holder, and that holder.
    pub nearest: (i32, u32),
}

impl Keys {
    /// Number of a pair.
    pub fn number(&mut self, kind: Kind, class: u32, label: u32) -> u32 {
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

    /// A number of its own for the rest.
    pub fn rest(&mut self) -> u32 {
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
