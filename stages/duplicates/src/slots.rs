//! The equality graph in memory, or behind pages.

use heaplake_kit::array::Fault;
use heaplake_kit::{Offsets, ReadAt};
use heaplake_schemas::ids::NodeId;
use std::ops::Range;

/// Slots of the nodes: where their edges lead.
pub struct Slots<O, E> {
    offsets: Offsets<O>,
    to: E,
}

impl<O: ReadAt<u32>, E: ReadAt<NodeId>> Slots<O, E> {
    pub fn new(offsets: Offsets<O>, to: E) -> Self {
        Self { offsets, to }
    }

    /// Positions of a node's slots.
    #[inline]
    pub fn of(&mut self, node: u32) -> Result<Range<usize>, Fault> {
        self.offsets.range(node as usize)
    }

    /// Target of the slot at a position.
    #[inline]
    pub fn to(&mut self, slot: usize) -> Result<u32, Fault> {
        Ok(self.to.get(slot)?.0)
    }

    /// Whether a node refers to itself.
    pub fn loops(&mut self, node: u32) -> Result<bool, Fault> {
        for slot in self.of(node)? {
            if self.to(slot)? == node {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
