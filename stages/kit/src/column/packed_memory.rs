//! A packed file in memory.

use super::packed::Packed;
use super::packing::BLOCK;
use crate::{Budget, BudgetVec, StageError};

/// All of a packed file, in memory as it is in the file, of which elements are unpacked as they are asked for. It takes a
/// fraction of what the elements take, and nothing comes from the disk.
pub struct PackedMemory {
    packed: Packed,
    bytes: BudgetVec<u8>,
    /// A block of which a part is asked for.
    block: Vec<u64>,
}

impl PackedMemory {
    /// Bytes that the groups of a file take.
    pub fn bytes(packed: &Packed) -> u64 {
        packed.groups_end()
    }

    /// Reads a file, counted for `who`.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`].
    pub fn read(packed: Packed, budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        let mut bytes = budget.filled(who, Self::bytes(&packed) as usize, 0)?;
        packed.read(0, &mut bytes)?;
        Ok(Self { packed, bytes, block: vec![0; BLOCK / size_of::<u64>()] })
    }

    /// Fills `elements`, the bytes of whole ones and aligned as those, with what begins at element `first`, all of one group.
    ///
    /// # Errors
    /// [`StageError::Scratch`] when the file is damaged.
    pub fn unpack(&mut self, first: u64, elements: &mut [u8]) -> Result<(), StageError> {
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
