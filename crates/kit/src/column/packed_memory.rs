//! A packed file in memory.

use super::packed::Packed;
use super::packing::BLOCK;
use crate::{Budget, BudgetVec, StageError};

/// The groups of a packed file in memory; elements are unpacked on access. Takes a fraction of the unpacked size, and
/// accesses read no disk.
pub(crate) struct PackedMemory {
    packed: Packed,
    bytes: BudgetVec<u8>,
    /// Buffer for a partially requested block.
    block: Vec<u64>,
}

impl PackedMemory {
    /// Bytes of the groups of a file.
    pub(crate) fn bytes(packed: &Packed) -> u64 {
        packed.groups_end()
    }

    /// Reads a file into memory, reserved for `who`.
    pub(crate) fn read(packed: Packed, budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        let mut bytes = budget.filled(who, Self::bytes(&packed) as usize, 0)?;
        packed.read(0, &mut bytes)?;
        Ok(Self { packed, bytes, block: vec![0; BLOCK / size_of::<u64>()] })
    }

    /// Fills `elements` (whole, aligned, all of one group) from element `first` on.
    pub(crate) fn unpack(&mut self, first: u64, elements: &mut [u8]) -> Result<(), StageError> {
        let (group, at) = self.packed.place(first);
        let range = self.packed.group(group);
        self.packed.unpack_group(
            group,
            &self.bytes[range.start as usize..range.end as usize],
            at,
            elements,
            &mut self.block,
        )
    }
}
