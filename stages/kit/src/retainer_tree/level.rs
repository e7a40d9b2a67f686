//! What a step of one tree keeps while the others take theirs.

use super::growing::{Growing, Keys};
use super::walk::{Limits, Place};

/// A step of a tree: from the holders of a branch to theirs.
pub(super) struct Level<'a> {
    /// Position of the tree.
    pub tree: usize,
    pub limits: &'a Limits,
    pub from: Growing,
    /// Where the retainers of each holder of the branch are.
    pub places: Vec<Place>,
    /// The edges that are followed: source and target, by target, and then by source.
    pub edges: Vec<(u32, u32)>,
    /// The same with their keys, by source, and then by target.
    pub links: Vec<Link>,
    pub keys: Keys,
    /// Whether not all was looked at.
    pub is_cut: bool,
    /// Whether there are as many edges, or links, as there may be.
    pub is_full: bool,
    pub cost: u64,
}

/// A holder of a node, and the key of their edge.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub held: u32,
    pub holder: u32,
    pub key: u32,
}

impl Link {
    /// One number in the order of links.
    #[inline]
    pub fn number(&self) -> u128 {
        u128::from(self.held) << 64 | u128::from(self.holder) << 32 | u128::from(self.key)
    }
}

/// A key by which a holder holds an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Triple {
    pub key: u32,
    pub item: u32,
    pub holder: u32,
}

impl Triple {
    /// One number in the order of triples.
    #[inline]
    pub fn number(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.item) << 32 | u128::from(self.holder)
    }
}

impl<'a> Level<'a> {
    /// A step that has not begun.
    pub fn new(tree: usize, from: Growing, limits: &'a Limits) -> Self {
        let (places, edges, links) = (Vec::new(), Vec::new(), Vec::new());
        let (is_cut, is_full, cost) = (false, false, 0);
        Self { tree, limits, from, places, edges, links, keys: Keys::default(), is_cut, is_full, cost }
    }
}
