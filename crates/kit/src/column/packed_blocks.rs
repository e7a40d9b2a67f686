//! Random access to blocks of a packed file.

use super::packed::{BLOCKS, Packed};
use super::packing::BLOCK;
use crate::StageError;
use std::ops::Range;

/// Maximum distance between block requests that count as sequential.
const NEAR: usize = 4;

/// Reads single blocks of a packed file. For sequential requests, the rest of the group is read in one call.
pub(crate) struct Blocks {
    packed: Packed,
    /// Length of each block; 0 if its group's lengths have not been read.
    lengths: Vec<u16>,
    /// The buffered blocks, and their numbers.
    bytes: Vec<u8>,
    held: Range<usize>,
    /// The block requested last.
    last: usize,
}

impl Blocks {
    /// Memory per block: its length, and its part of the group index.
    pub(crate) const BYTES_PER_BLOCK: usize = 3;

    pub(crate) fn new(packed: Packed) -> Self {
        packed.file().will_read_at_random();
        let lengths = vec![0; packed.all_blocks()];
        Self { packed, lengths, bytes: Vec::new(), held: 0..0, last: usize::MAX - NEAR }
    }

    pub(crate) fn packed(&self) -> &Packed {
        &self.packed
    }

    /// Fills `elements` with a block: [`BLOCK`] bytes, fewer for the last block.
    pub(crate) fn read(&mut self, block: usize, elements: &mut [u8]) -> Result<(), StageError> {
        if !self.held.contains(&block) {
            self.bring(block)?;
        }
        self.last = block;
        let start = total(&self.lengths[self.held.start..block]);
        let packed = self.bytes.get(start..start + usize::from(self.lengths[block]));
        self.packed.unpack(packed, elements)
    }

    /// Reads a block; for sequential requests, the rest of its group, too.
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

    /// Starts readahead of blocks, which may be out of range. Positions are estimated where block lengths are unknown:
    /// the blocks of a group have similar lengths.
    pub(crate) fn will_need(&self, block: usize, count: usize) {
        let Range { start: from, end: to } = match self.known(block, count) {
            Some(range) => range,
            None => {
                let range = self.about(block)..self.about(block + count);
                range.start.saturating_sub(BLOCK as u64 / 2)..range.end + BLOCK as u64 / 2
            }
        };
        self.packed.file().will_need(from, to - from);
    }

    /// Returns the file range of blocks if they belong to one group with known lengths.
    fn known(&self, block: usize, count: usize) -> Option<Range<u64>> {
        let asked = self.lengths.get(block..block + count).filter(|asked| asked[0] > 0)?;
        let is_one_group = block / BLOCKS == (block + count - 1) / BLOCKS;
        is_one_group.then(|| self.start(block)..self.start(block) + total(asked) as u64)
    }

    /// Returns the file position of a block whose group's lengths are known.
    fn start(&self, block: usize) -> u64 {
        let (group, first) = (block / BLOCKS, block / BLOCKS * BLOCKS);
        let before = 2 * self.packed.blocks(group) + total(&self.lengths[first..block]);
        self.packed.group(group).start + before as u64
    }

    /// Estimates the file position of a block; the end for blocks out of range.
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
