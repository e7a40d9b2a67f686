//! State of one tree's step while all trees take a step together.

use super::growing::{Growing, Keys};
use super::walk::{Limits, Place};

/// A step of a tree: from the nodes of a branch to their retainers.
pub(super) struct Level<'a> {
    /// Position of the tree.
    pub tree: usize,
    pub limits: &'a Limits,
    pub from: Growing,
    /// Location of the retainers of each node of the branch.
    pub places: Vec<Place>,
    /// Followed edges (source, target), sorted by target, then source.
    pub edges: Vec<(u32, u32)>,
    /// The same with keys, sorted by source, then target.
    pub links: Vec<Link>,
    pub keys: Keys,
    /// True if some retainers were not examined.
    pub is_cut: bool,
    /// True at the maximum number of edges or links.
    pub is_full: bool,
    pub cost: u64,
}

/// A retainer of a node, and the key of their edge.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub held: u32,
    pub holder: u32,
    pub key: u32,
}

impl Link {
    /// Sort key of links.
    #[inline]
    pub(super) fn number(&self) -> u128 {
        u128::from(self.held) << 64 | u128::from(self.holder) << 32 | u128::from(self.key)
    }
}

/// A key by which a retainer holds an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Triple {
    pub key: u32,
    pub item: u32,
    pub holder: u32,
}

impl Triple {
    /// Sort key of triples.
    #[inline]
    pub(super) fn number(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.item) << 32 | u128::from(self.holder)
    }
}

impl<'a> Level<'a> {
    /// Creates a step that has not begun.
    pub(super) fn new(tree: usize, from: Growing, limits: &'a Limits) -> Self {
        let (places, edges, links) = (Vec::new(), Vec::new(), Vec::new());
        let (is_cut, is_full, cost) = (false, false, 0);
        Self { tree, limits, from, places, edges, links, keys: Keys::default(), is_cut, is_full, cost }
    }
}
