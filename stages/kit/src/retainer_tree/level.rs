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
    /// Distance of the nearest node that the branch has passed, its holders included.
    pub nearest: i32,
    /// The edges that are followed: the source in the upper half, the place of the target among the holders of the
    /// branch in the lower; by target, and once all are found by source.
    pub edges: Vec<u64>,
    /// The same with their keys.
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
    /// Place of the node among the holders of the branch.
    pub held: u32,
    pub holder: u32,
    pub key: u32,
}

impl<'a> Level<'a> {
    /// A step that has not begun.
    pub fn new(tree: usize, from: Growing, limits: &'a Limits) -> Self {
        let (places, edges, links) = (Vec::new(), Vec::new(), Vec::new());
        let (nearest, is_cut, is_full, cost) = (from.nearest, false, false, 0);
        Self { tree, limits, from, places, nearest, edges, links, keys: Keys::default(), is_cut, is_full, cost }
    }
}
