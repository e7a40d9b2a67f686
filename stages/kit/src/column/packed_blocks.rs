//! Single blocks of a packed file.

use super::packed::{BLOCKS, Packed};
use super::packing::BLOCK;
use crate::StageError;
use std::ops::Range;

/// A block that is at most so far behind the one before is taken for the next.
const NEAR: usize = 4;

/// Reads single blocks of a packed file. Where they are asked for in order, the rest of a group is read in one call.
pub struct Blocks {
    packed: Packed,
    /// Length of each block; 0 where its group was not looked at.
    lengths: Vec<u16>,
    /// The blocks that were read last, and which they are.
    bytes: Vec<u8>,
    held: Range<usize>,
    /// The block that was asked for last.
    last: usize,
}

impl Blocks {
    /// Bytes that it takes for a block of a file: its length, and where its group begins.
    pub const BYTES_PER_BLOCK: usize = 3;

    pub fn new(packed: Packed) -> Self {
        packed.file().will_read_at_random();
        let lengths = vec![0; packed.all_blocks()];
        Self { packed, lengths, bytes: Vec::new(), held: 0..0, last: usize::MAX - NEAR }
    }

    pub fn packed(&self) -> &Packed {
        &self.packed
    }

    /// Fills `elements` with a block: [`BLOCK`] bytes, or what the last block has.
    pub fn read(&mut self, block: usize, elements: &mut [u8]) -> Result<(), StageError> {
        if !self.held.contains(&block) {
            self.bring(block)?;
        }
        self.last = block;
        let start = total(&self.lengths[self.held.start..block]);
        let packed = self.bytes.get(start..start + usize::from(self.lengths[block]));
        self.packed.unpack(packed, elements)
    }

    /// Reads a block, and those behind it in its group if it follows the one before.
    fn bring(&mut self, block: usize) -> Result<(), StageError> {
        let (group, first) = (block / BLOCKS, block / BLOCKS * BLOCKS);
        let count = self.packed.blocks(group);
        self.held = 0..0;
        if self.lengths[block] == 0 {
            let lengths = &mut self.lengths[first..first + count];
            self.packed.read(self.packed.group(group).start, bytemuck::cast_slice_mut(lengths))?;
        }
        let is_next = (self.last..self.last + NEAR).contains(&block);
        let held = block..if is_next { first + count } else { block + 1 };
        self.bytes.resize(total(&self.lengths[held.clone()]), 0);
        self.packed.read(self.start(block), &mut self.bytes)?;
        self.held = held;
        Ok(())
    }

    /// Asks the system for blocks, which may be out of range. Where the lengths of their group were not looked at, about where
    /// they lie: those of a group are about as long as each other.
    pub fn will_need(&self, block: usize, count: usize) {
        let Range { start: from, end: to } = match self.known(block, count) {
            Some(range) => range,
            None => {
                let range = self.about(block)..self.about(block + count);
                range.start.saturating_sub(BLOCK as u64 / 2)..range.end + BLOCK as u64 / 2
            }
        };
        self.packed.file().will_need(from, to - from);
    }

    /// Where blocks lie, if all are of one group and its lengths were looked at.
    fn known(&self, block: usize, count: usize) -> Option<Range<u64>> {
        let asked = self.lengths.get(block..block + count).filter(|asked| asked[0] > 0)?;
        let is_one_group = block / BLOCKS == (block + count - 1) / BLOCKS;
        is_one_group.then(|| self.start(block)..self.start(block) + total(asked) as u64)
    }

    /// Where a block lies, the lengths of whose group were looked at.
    fn start(&self, block: usize) -> u64 {
        let (group, first) = (block / BLOCKS, block / BLOCKS * BLOCKS);
        let before = 2 * self.packed.blocks(group) + total(&self.lengths[first..block]);
        self.packed.group(group).start + before as u64
    }

    /// About where a block lies; behind the last one at the end.
    fn about(&self, block: usize) -> u64 {
        if block >= self.lengths.len() {
            return self.packed.groups_end();
        }
        let (group, nth) = (block / BLOCKS, (block % BLOCKS) as u64);
        let range = self.packed.group(group);
        range.start + (range.end - range.start) * nth / self.packed.blocks(group) as u64
    }
}

fn total(lengths: &[u16]) -> usize {
    lengths.iter().map(|&length| usize::from(length)).sum()
}
