//! Reads partitions back and writes the groups of their keys.

use super::blocks::Blocks;
use super::pairs::{BLOCK_PAIRS, BUFFER_BYTES, Pair, PairSpill};
use crate::{ColumnWriter, Context, OrderedPool, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::ops::Range;

/// Range of the pairs of a partition in memory.
const LEAST_PAIRS: u64 = 1 << 16;
const MOST_PAIRS: u64 = 1 << 20;
/// Blocks freed together.
const FREED_AT_ONCE: usize = 256;
/// Reading back does not scale further: the single writing thread is then the bottleneck.
const MOST_THREADS: usize = 8;

impl PairSpill {
    /// Writes the groups, from the last key down to `first_key`: the number of values of each key to `sizes`, the
    /// values in the same order to `values`. Removes the files of the spill.
    pub fn write_groups<V: Pod + Send + From32>(
        self,
        scratch: &Scratch,
        context: &Context<'_>,
        first_key: usize,
        sizes: Column<u32>,
        values: Column<V>,
    ) -> Result<(), StageError> {
        let mut sizes = ColumnWriter::create(scratch, sizes)?;
        let mut values = ColumnWriter::create(scratch, values)?;
        let threads = context.threads.min(MOST_THREADS);
        let room = context.budget.free() / 96 / OrderedPool::jobs(threads) as u64;
        let room = room.clamp(LEAST_PAIRS, MOST_PAIRS) as usize;
        let job_bytes = (room * 12 + (8 << self.shift) + BUFFER_BYTES) as u64;
        let pool = OrderedPool::plan(context, "grouping", threads, job_bytes)?;
        let mut indices = (0..self.partitions.len()).rev();
        pool.run::<_, StageError, _>(
            context,
            |group: &mut Group<V>| {
                context.check()?;
                let Some(index) = indices.next() else { return Ok(false) };
                (group.index, group.keys) = (index, self.keys_of(index, first_key));
                Ok(true)
            },
            || |group: &mut Group<V>| group.fits = self.sort(group, room),
            |group| {
                let fits = std::mem::replace(&mut group.fits, Ok(false))?;
                sizes.extend(&group.sizes)?;
                if !fits {
                    return self.write_parts(group, room, scratch, context, &mut values);
                }
                // The partition has been read into memory.
                self.release(group.index, scratch);
                values.extend(&group.values)
            },
        )?;
        sizes.finish()?;
        values.finish()?;
        Ok(())
    }

    /// Keys of a partition, from `first_key` on.
    pub(super) fn keys_of(&self, index: usize, first_key: usize) -> Range<usize> {
        let base = index << self.shift;
        let end = (base + (1 << self.shift)).min(self.keys);
        base.max(first_key)..end.max(base.max(first_key))
    }

    /// Counts the values of a partition's keys and, if it has at most `room` pairs, sorts them. Returns true if sorted.
    fn sort<V: Pod + From32>(&self, group: &mut Group<V>, room: usize) -> Result<bool, StageError> {
        let Group { index, keys, counts, sizes, values, pairs, block, .. } = group;
        let base = *index << self.shift;
        let fits = self.partitions[*index].pairs() <= room;
        counts.clear();
        counts.resize(1 << self.shift, 0);
        pairs.clear();
        self.for_each(*index, block, |pair| {
            counts[pair[0] as usize - base] += 1;
            if fits {
                pairs.push(pair);
            }
            Ok(())
        })?;
        sizes.clear();
        sizes.extend(keys.clone().rev().map(|key| counts[key - base]));
        if fits {
            let total = positions(counts, base, keys);
            values.clear();
            values.resize(total, V::zeroed());
            pairs.iter().for_each(|&pair| place(pair, counts, base, keys, values));
        }
        Ok(fits)
    }

    /// Releases a file after the last of its partitions has been read.
    pub(super) fn release(&self, index: usize, scratch: &Scratch) {
        if index.is_multiple_of(self.partitions_per_file) {
            scratch.measure();
            self.files[index / self.partitions_per_file].release();
        }
    }

    /// Passes every pair of a partition to `each`, in insertion order.
    pub(super) fn for_each(
        &self,
        index: usize,
        block: &mut Vec<u8>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let (partition, file) = (&self.partitions[index], &self.files[index / self.partitions_per_file]);
        self.for_each_in(index, file, &partition.blocks, block, &mut each)?;
        partition.buffer.iter().try_for_each(|&pair| each(pair))
    }

    /// As [`Self::for_each`], for the last pass: frees disk space on the way.
    pub(super) fn for_each_freed(
        &self,
        index: usize,
        block: &mut Vec<u8>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let (partition, file) = (&self.partitions[index], &self.files[index / self.partitions_per_file]);
        for blocks in partition.blocks.chunks(FREED_AT_ONCE) {
            self.for_each_in(index, file, blocks, block, &mut each)?;
            file.free(blocks, self.block_bytes());
        }
        partition.buffer.iter().try_for_each(|&pair| each(pair))
    }

    /// Passes the pairs of some blocks of one partition to `each`.
    pub(super) fn for_each_in(
        &self,
        index: usize,
        file: &Blocks,
        blocks: &[u64],
        block: &mut Vec<u8>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let base = (index << self.shift) as u32;
        for &at in blocks {
            file.with(at, self.block_bytes(), block, |block| {
                let (values, keys) = block.split_at(BLOCK_PAIRS * 4);
                let (low, high) = keys.split_at(BLOCK_PAIRS * 2);
                let (values, _) = values.as_chunks::<4>();
                let (low, _) = low.as_chunks::<2>();
                // Stored key bits may overlap with those of the partition.
                let keys = low.iter().map(|&key| base | u32::from(u16::from_ne_bytes(key)));
                let mut pairs = keys.zip(values.iter().map(|&value| u32::from_ne_bytes(value)));
                if high.is_empty() {
                    pairs.try_for_each(|(key, value)| each([key, value]))
                } else {
                    pairs.zip(high).try_for_each(|((key, value), &high)| each([key | u32::from(high) << 16, value]))
                }
            })?;
        }
        Ok(())
    }
}

/// Turns counts of `keys` into positions of their values, in descending key order; returns the number of values. Other
/// counts are unchanged.
pub(super) fn positions(counts: &mut [u32], base: usize, keys: &Range<usize>) -> usize {
    let mut position = 0u32;
    for key in keys.clone().rev() {
        position += std::mem::replace(&mut counts[key - base], position);
    }
    position as usize
}

/// Stores the value of a pair at its position, if its key is in `keys`.
#[inline]
pub(super) fn place<V: From32>(
    [key, value]: Pair,
    positions: &mut [u32],
    base: usize,
    keys: &Range<usize>,
    values: &mut [V],
) {
    if keys.contains(&(key as usize)) {
        let position = &mut positions[key as usize - base];
        values[*position as usize] = V::from_u32(value);
        *position += 1;
    }
}

/// A partition being sorted.
pub(super) struct Group<V> {
    pub index: usize,
    pub keys: Range<usize>,
    /// Number of values per key of the partition, then the position of the next value.
    pub counts: Vec<u32>,
    /// Number of values per key of `keys`, in descending key order.
    pub sizes: Vec<u32>,
    /// Values in order, if they fit.
    pub values: Vec<V>,
    /// Pairs of the partition, if they fit.
    pairs: Vec<Pair>,
    pub block: Vec<u8>,
    fits: Result<bool, StageError>,
}

impl<V> Default for Group<V> {
    fn default() -> Self {
        let (counts, sizes, values) = (Vec::new(), Vec::new(), Vec::new());
        Self { index: 0, keys: 0..0, counts, sizes, values, pairs: Vec::new(), block: Vec::new(), fits: Ok(false) }
    }
}

/// A newtype of `u32`, such as an id.
pub trait From32 {
    /// Wraps the number.
    fn from_u32(value: u32) -> Self;
}

impl From32 for u32 {
    fn from_u32(value: u32) -> Self {
        value
    }
}

impl From32 for i32 {
    fn from_u32(value: u32) -> Self {
        value.cast_signed()
    }
}

impl From32 for heaplake_schemas::ids::Preorder {
    fn from_u32(value: u32) -> Self {
        Self(value)
    }
}
