//! The slots of nodes in the equality graph, resident or paged.

use heaplake_kit::array::{Fault, Residency};
use heaplake_kit::{Lookup, OffsetBlock, Offsets, ReadAt};
use heaplake_schemas::ids::NodeId;
use std::ops::Range;

/// Access to the targets of slots.
pub(crate) trait Slots {
    /// Positions of a node's slots.
    fn of(&mut self, node: u32) -> Result<Range<usize>, Fault>;

    /// Target of the slot at a position.
    fn to(&mut self, slot: usize) -> Result<u32, Fault>;

    fn loops(&mut self, node: u32) -> Result<bool, Fault> {
        for slot in self.of(node)? {
            if self.to(slot)? == node {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The arrays of slots.
pub(crate) struct SlotArrays<O = Lookup<OffsetBlock>, E = Lookup<NodeId>> {
    offsets: Offsets<O>,
    to: E,
}

impl SlotArrays {
    /// Returns slots. `offsets` are those of `equal.degree`, `to` is `equal.to`.
    pub(crate) fn new(offsets: Offsets, to: Lookup<NodeId>) -> Self {
        Self { offsets, to }
    }
}

impl<O: ReadAt<OffsetBlock>, E: ReadAt<NodeId>> Slots for SlotArrays<O, E> {
    #[inline]
    fn of(&mut self, node: u32) -> Result<Range<usize>, Fault> {
        self.offsets.range(node as usize)
    }

    #[inline]
    fn to(&mut self, slot: usize) -> Result<u32, Fault> {
        Ok(self.to.get(slot)?.0)
    }
}

impl Residency for SlotArrays {
    type Resident<'a> = SlotArrays<&'a [OffsetBlock], &'a [NodeId]>;
    type Anywhere<'a> = SlotArrays<&'a mut Lookup<OffsetBlock>, &'a mut Lookup<NodeId>>;

    fn resident(&mut self) -> Option<Self::Resident<'_>> {
        Some(SlotArrays { offsets: self.offsets.resident()?, to: self.to.resident()? })
    }

    fn anywhere(&mut self) -> Self::Anywhere<'_> {
        SlotArrays { offsets: self.offsets.anywhere(), to: self.to.anywhere() }
    }
}
