//! Pairs brought into groups on disk.
//!
//! A [`PairSpill`] takes `(key, value)` pairs in any order and gives the values back grouped by key, keys descending,
//! values of one key in the order in which they came. It is a radix partition: pairs go to the partition of their
//! key's high bits, each partition has one small buffer, full buffers are appended to one file as blocks. Reading a
//! partition back is a counting sort whose scatter stays in cache.
//!
//! Memory: [`PairSpill::BLOCK_BYTES`] per partition while writing; while reading, 8 bytes per key of a partition plus 4
//! per value of it, for each partition that a thread is at. A partition whose values do not fit (keys with very many
//! values) is read in several passes, and a single key that does not fit is streamed. Disk: 8 bytes per pair, written
//! once and read twice; while groups are written, large spills shrink as fast as the groups grow.

use crate::{Budget, ColumnWriter, Context, Crew, Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

type Pair = [u32; 2];

const BLOCK_PAIRS: usize = 2048;
const MOST_PARTITIONS: usize = 1024;
/// Pairs per partition at which the scatter of reading still stays in the second-level cache.
const PAIRS_PER_PARTITION: u64 = 1 << 18;
/// Bytes of a spill from which on partitions that were read give their space back at once.
const WORTH_RELEASING: u64 = 256 << 20;
/// Values of a partition held at once, at least and at most.
const LEAST_VALUES: u64 = 1 << 16;
const MOST_VALUES: u64 = 1 << 20;
/// Most threads that are of use in reading back: by then writing, on one thread, takes longer.
const MOST_THREADS: usize = 8;

/// See the module.
pub struct PairSpill {
    path: PathBuf,
    file: File,
    shift: u32,
    keys: usize,
    partitions: Vec<Partition>,
    blocks: u32,
    _buffers: Reservation,
}

#[derive(Default)]
struct Partition {
    buffer: Vec<Pair>,
    blocks: Vec<u32>,
}

impl PairSpill {
    /// Bytes of one partition's buffer.
    pub const BLOCK_BYTES: usize = BLOCK_PAIRS * size_of::<Pair>();

    /// Bytes of budget that any spill needs at most for its buffers and for reading back.
    pub const MOST_BYTES: u64 = (MOST_PARTITIONS * Self::BLOCK_BYTES) as u64 + (4 << 20);

    /// Prepares for about `pairs` pairs with keys below `keys`. The file `name` lives in the scratch folder until the
    /// groups are written.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Budget`].
    pub fn create(
        budget: &Budget,
        scratch: &Scratch,
        name: &'static str,
        keys: usize,
        pairs: u64,
    ) -> Result<Self, StageError> {
        let wanted = pairs.div_ceil(PAIRS_PER_PARTITION).clamp(1, MOST_PARTITIONS as u64) as usize;
        let shift = keys.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros();
        let count = (keys >> shift) + 1;
        let path = scratch.file(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|error| StageError::io(&path, "create", error))?;
        Ok(Self {
            path,
            file,
            shift,
            keys,
            partitions: (0..count).map(|_| Partition::default()).collect(),
            blocks: 0,
            _buffers: budget.reserve(name, (count * Self::BLOCK_BYTES) as u64)?,
        })
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, key: u32, value: u32) -> Result<(), StageError> {
        let partition = &mut self.partitions[(key >> self.shift) as usize];
        partition.buffer.push([key, value]);
        if partition.buffer.len() == BLOCK_PAIRS { self.flush((key >> self.shift) as usize) } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self, partition: usize) -> Result<(), StageError> {
        let partition = &mut self.partitions[partition];
        let bytes: &[u8] = bytemuck::cast_slice(&partition.buffer);
        self.file.write_all(bytes).map_err(|error| StageError::io(&self.path, "write", error))?;
        partition.buffer.clear();
        partition.blocks.push(self.blocks);
        self.blocks += 1;
        Ok(())
    }

    /// Bytes written to the file.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        u64::from(self.blocks) * Self::BLOCK_BYTES as u64
    }

    /// Writes the groups: to `sizes` the number of values of every key from the last key down to `first_key`, to
    /// `values` the values in the same order. Removes the spill's file.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
    pub fn write_groups<V: Pod + Send + From32>(
        self,
        scratch: &Scratch,
        context: &Context<'_>,
        first_key: usize,
        sizes: Column<u32>,
        values: Column<V>,
    ) -> Result<(), StageError> {
        // From here on groups take the place of pairs.
        scratch.measure();
        let mut sizes = ColumnWriter::create(scratch, sizes)?;
        let mut values = ColumnWriter::create(scratch, values)?;
        let threads = context.threads.min(MOST_THREADS);
        let room = context.budget.free() / 32 / Crew::jobs(threads) as u64;
        let room = room.clamp(LEAST_VALUES, MOST_VALUES) as usize;
        let job_bytes = (room * 4 + (8 << self.shift) + Self::BLOCK_BYTES) as u64;
        let crew = Crew::gather(context, "grouping", threads, job_bytes)?;
        let mut indices = (0..self.partitions.len()).rev();
        crew.run::<_, StageError, _>(
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
                if fits {
                    values.extend(&group.values)?;
                } else {
                    self.write_parts(group, room, &mut values)?;
                }
                self.release(group.index);
                Ok(())
            },
        )?;
        sizes.finish()?;
        values.finish()?;
        // A file that stays is only space; the whole folder goes at the end.
        let _ = fs::remove_file(&self.path);
        Ok(())
    }

    /// The keys of a partition, from `first_key` on.
    fn keys_of(&self, index: usize, first_key: usize) -> Range<usize> {
        let base = index << self.shift;
        let end = (base + (1 << self.shift)).min(self.keys);
        base.max(first_key)..end.max(base.max(first_key))
    }

    /// Counts the values of a partition's keys and, when there are at most `room` of them, brings them into order; says
    /// whether it did.
    fn sort<V: Pod + From32>(&self, group: &mut Group<V>, room: usize) -> Result<bool, StageError> {
        let Group { index, keys, counts, sizes, values, block, .. } = group;
        let base = *index << self.shift;
        counts.clear();
        counts.resize(1 << self.shift, 0);
        self.for_each(*index, block, |[key, _]| {
            counts[key as usize - base] += 1;
            Ok(())
        })?;
        sizes.clear();
        sizes.extend(keys.clone().rev().map(|key| counts[key - base]));
        let total = sizes.iter().map(|&size| size as usize).sum::<usize>();
        if total <= room {
            self.scatter(*index, keys, counts, values, total, block)?;
        }
        Ok(total <= room)
    }

    /// Makes `values` the `total` values of some `keys`, in descending order of key.
    fn scatter<V: Pod + From32>(
        &self,
        index: usize,
        keys: &Range<usize>,
        counts: &mut [u32],
        values: &mut Vec<V>,
        total: usize,
        block: &mut Vec<Pair>,
    ) -> Result<(), StageError> {
        let base = index << self.shift;
        // From here on counts are write positions; those of other keys stay counts.
        let mut position = 0u32;
        for key in keys.clone().rev() {
            position += std::mem::replace(&mut counts[key - base], position);
        }
        values.resize(total, V::zeroed());
        self.for_each(index, block, |[key, value]| {
            if keys.contains(&(key as usize)) {
                let position = &mut counts[key as usize - base];
                values[*position as usize] = V::from_u32(value);
                *position += 1;
            }
            Ok(())
        })
    }

    /// Writes the values of a partition that has too many of them, as many keys at a time as fit into `room`.
    fn write_parts<V: Pod + From32>(
        &self,
        group: &mut Group<V>,
        room: usize,
        out: &mut ColumnWriter<V>,
    ) -> Result<(), StageError> {
        let Group { index, keys, counts, values, block, .. } = group;
        let base = *index << self.shift;
        let mut high = keys.end;
        while high > keys.start {
            let (mut low, mut total) = (high, 0usize);
            while low > keys.start && total + counts[low - 1 - base] as usize <= room {
                low -= 1;
                total += counts[low - base] as usize;
            }
            if low == high {
                // One key with more values than fit: they are in order already, so let them through.
                low = high - 1;
                let pass = |[key, value]: Pair| {
                    if key as usize == low { out.push(V::from_u32(value)) } else { Ok(()) }
                };
                self.for_each(*index, block, pass)?;
            } else if total > 0 {
                self.scatter(*index, &(low..high), counts, values, total, block)?;
                out.extend(values)?;
            }
            high = low;
        }
        Ok(())
    }

    /// Gives the disk space of a partition back, where it is worth the system calls.
    fn release(&self, index: usize) {
        if self.spilled_bytes() < WORTH_RELEASING {
            return;
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for &block in &self.partitions[index].blocks {
            let (start, length) = (u64::from(block) * Self::BLOCK_BYTES as u64, Self::BLOCK_BYTES as u64);
            // Where the file system cannot do that, the space goes with the file.
            if fallocate(&self.file, flags, start, length).is_err() {
                return;
            }
        }
    }

    /// Hands every pair of a partition to `each`, in the order in which they came.
    fn for_each(
        &self,
        index: usize,
        block: &mut Vec<Pair>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let partition = &self.partitions[index];
        block.resize(BLOCK_PAIRS, [0; 2]);
        for &number in &partition.blocks {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(block);
            self.file
                .read_exact_at(bytes, u64::from(number) * Self::BLOCK_BYTES as u64)
                .map_err(|error| StageError::io(&self.path, "read", error))?;
            block.iter().try_for_each(|&pair| each(pair))?;
        }
        partition.buffer.iter().try_for_each(|&pair| each(pair))
    }
}

/// A partition on its way to being sorted.
struct Group<V> {
    index: usize,
    keys: Range<usize>,
    /// Values of each key of the partition, or where the next one goes.
    counts: Vec<u32>,
    /// Values of each of `keys`, descending.
    sizes: Vec<u32>,
    /// The values in order, if they fit.
    values: Vec<V>,
    block: Vec<Pair>,
    fits: Result<bool, StageError>,
}

impl<V> Default for Group<V> {
    fn default() -> Self {
        let (counts, sizes, values, block) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { index: 0, keys: 0..0, counts, sizes, values, block, fits: Ok(false) }
    }
}

/// A newtype over `u32`, as ids are.
pub trait From32 {
    /// Wraps the number.
    fn from_u32(value: u32) -> Self;
}

impl From32 for u32 {
    fn from_u32(value: u32) -> Self {
        value
    }
}

impl From32 for heaplake_schemas::ids::Preorder {
    fn from_u32(value: u32) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Silent;
    use crate::{ColumnMap, stage::Context};
    use std::sync::atomic::AtomicBool;

    const SIZES: Column<u32> = Column::new("sizes");
    const VALUES: Column<u32> = Column::new("values");

    fn grouped(pairs: &[Pair], keys: usize, memory: u64, announced: u64) -> (Vec<u32>, Vec<u32>) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(memory);
        let cancel = AtomicBool::new(false);
        let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
        let mut spill = PairSpill::create(&budget, &scratch, "spill", keys, announced).unwrap();
        pairs.iter().for_each(|&[key, value]| spill.push(key, value).unwrap());
        spill.write_groups(&scratch, &context, 1, SIZES, VALUES).unwrap();
        assert_eq!(budget.used(), 0);
        let read = |column| ColumnMap::open(&scratch, column, None).unwrap().to_vec();
        (read(SIZES), read(VALUES))
    }

    /// The truth: a stable sort.
    fn expected(pairs: &[Pair], keys: usize) -> (Vec<u32>, Vec<u32>) {
        let mut sorted: Vec<Pair> = pairs.iter().copied().filter(|pair| pair[0] >= 1).collect();
        sorted.sort_by_key(|pair| std::cmp::Reverse(pair[0]));
        let sizes = (1..keys as u32).rev().map(|key| sorted.iter().filter(|pair| pair[0] == key).count() as u32);
        (sizes.collect(), sorted.iter().map(|pair| pair[1]).collect())
    }

    #[test]
    fn groups_equal_a_stable_sort() {
        let mut state = 7u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for (keys, count, announced) in [(1, 0, 0), (2, 10, 10), (1000, 20_000, 20_000), (1000, 20_000, 1 << 28)] {
            let pairs: Vec<Pair> = (0..count).map(|i| [random() % keys, i]).collect();
            let groups = grouped(&pairs, keys as usize, 64 << 20, announced);
            assert_eq!(groups, expected(&pairs, keys as usize), "{keys} keys, {count} pairs");
        }
    }

    #[test]
    fn a_hub_that_does_not_fit_is_streamed() {
        // One key with 100,000 values between others; the budget leaves room for 65,536 values.
        let pairs: Vec<Pair> = (0..150_000u32).map(|i| [if i % 3 == 0 { i % 40 } else { 17 }, i]).collect();
        assert_eq!(grouped(&pairs, 40, 1 << 20, 150_000), expected(&pairs, 40));
    }
}
