//! Pairs brought into groups on disk.
//!
//! A [`PairSpill`] takes `(key, value)` pairs in any order and gives the values back grouped by key, keys descending,
//! values of one key in the order in which they came. It is a radix partition: pairs go to the partition of their
//! key's high bits, each partition has one small buffer, full buffers are appended as blocks to the file of several
//! neighbouring partitions, the keys without the bits that the partition tells. Reading a partition back is a counting
//! sort whose scatter stays in cache.
//!
//! Memory: [`BUFFER_BYTES`] per partition while writing; while reading, 8 bytes per key of a partition plus 12 per pair
//! of it, for each partition that a thread is at. A partition that does not fit (keys with very many values) is read from
//! disk as often as it takes, with half of the free budget for its values, and a single key that does not fit is streamed.
//! Disk: 6 bytes per pair where a partition has at most 65,536 keys, else 7, written once and, what fits, read once; while
//! groups are written, the files go one by one, so groups take the place of pairs.

use crate::{Budget, ColumnWriter, Context, OrderedPool, Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

type Pair = [u32; 2];

const BLOCK_PAIRS: usize = 2048;
/// Bytes of one partition's buffer.
const BUFFER_BYTES: usize = BLOCK_PAIRS * size_of::<Pair>();
const MOST_PARTITIONS: usize = 1024;
const MOST_FILES: usize = 64;
/// Bits of a key that a block has room for; the others are those of the partition.
const MOST_BITS: u32 = 24;
/// Pairs per partition at which the scatter of reading still stays in the second-level cache.
const PAIRS_PER_PARTITION: u64 = 1 << 18;
/// Pairs of a partition held at once, at least and at most.
const LEAST_PAIRS: u64 = 1 << 16;
const MOST_PAIRS: u64 = 1 << 20;
/// Most threads that are of use in reading back: by then writing, on one thread, takes longer.
const MOST_THREADS: usize = 8;

/// See the module.
pub struct PairSpill {
    files: Vec<Part>,
    /// Partitions of a file.
    partitions_per_file: usize,
    shift: u32,
    keys: usize,
    partitions: Vec<Partition>,
    block: Vec<u8>,
    _buffers: Reservation,
}

/// One of the files.
struct Part {
    path: PathBuf,
    file: File,
    blocks: u32,
}

#[derive(Default)]
struct Partition {
    buffer: Vec<Pair>,
    /// Where its blocks are in its file.
    blocks: Vec<u32>,
}

impl Partition {
    fn pairs(&self) -> usize {
        self.blocks.len() * BLOCK_PAIRS + self.buffer.len()
    }
}

impl PairSpill {
    /// Bytes of budget that any spill needs at most for its buffers and for reading back.
    pub const MOST_BYTES: u64 = (MOST_PARTITIONS * BUFFER_BYTES) as u64 + (4 << 20);

    /// Prepares for about `pairs` pairs with keys below `keys`. Files whose names begin with `name` live in the scratch
    /// folder until the groups are written.
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
        let shift = keys.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros().min(MOST_BITS);
        let count = (keys >> shift) + 1;
        let buffers = budget.reserve(name, (count * BUFFER_BYTES) as u64)?;
        let partitions_per_file = count.div_ceil(MOST_FILES);
        let files = (0..count.div_ceil(partitions_per_file)).map(|number| {
            let path = scratch.file(&format!("{name}.{number}"));
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
            Ok(Part { file: file.map_err(|error| StageError::io(&path, "create", error))?, path, blocks: 0 })
        });
        Ok(Self {
            files: files.collect::<Result<_, StageError>>()?,
            partitions_per_file,
            shift,
            keys,
            partitions: (0..count).map(|_| Partition::default()).collect(),
            block: Vec::new(),
            _buffers: buffers,
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

    /// Writes a full buffer: all values, then of all keys the low 16 bits, then those above that the partition has.
    #[cold]
    fn flush(&mut self, index: usize) -> Result<(), StageError> {
        let Partition { buffer, blocks } = &mut self.partitions[index];
        self.block.clear();
        self.block.extend(buffer.iter().flat_map(|[_, value]| value.to_ne_bytes()));
        self.block.extend(buffer.iter().flat_map(|[key, _]| (*key as u16).to_ne_bytes()));
        if self.shift > u16::BITS {
            self.block.extend(buffer.iter().map(|[key, _]| (key >> u16::BITS) as u8));
        }
        buffer.clear();
        let Part { path, file, blocks: written } = &mut self.files[index / self.partitions_per_file];
        file.write_all(&self.block).map_err(|error| StageError::io(path, "write", error))?;
        blocks.push(*written);
        *written += 1;
        Ok(())
    }

    /// Bytes of a block.
    fn block_bytes(&self) -> usize {
        BLOCK_PAIRS * if self.shift > u16::BITS { 7 } else { 6 }
    }

    /// Bytes written to disk.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.files.iter().map(|part| u64::from(part.blocks)).sum::<u64>() * self.block_bytes() as u64
    }

    /// Writes the groups: to `sizes` the number of values of every key from the last key down to `first_key`, to
    /// `values` the values in the same order. Removes the spill's files.
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
                    return self.write_parts(group, room, &context.budget, scratch, &mut values);
                }
                // What was read back is in memory now.
                self.release(group.index, scratch);
                values.extend(&group.values)
            },
        )?;
        sizes.finish()?;
        values.finish()?;
        for part in &self.files {
            // A file that stays is only space; the whole folder goes at the end.
            let _ = fs::remove_file(&part.path);
        }
        Ok(())
    }

    /// The keys of a partition, from `first_key` on.
    fn keys_of(&self, index: usize, first_key: usize) -> Range<usize> {
        let base = index << self.shift;
        let end = (base + (1 << self.shift)).min(self.keys);
        base.max(first_key)..end.max(base.max(first_key))
    }

    /// Counts the values of a partition's keys and, when it has at most `room` pairs, brings them into order; says whether
    /// it did.
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

    /// Writes the values of a partition that has too many of them for `room`: as many keys at a time as fit into half of
    /// what is free now: each time reads the whole partition. Gives its file back, before the last ones are written.
    fn write_parts<V: Pod + From32>(
        &self,
        group: &mut Group<V>,
        room: usize,
        budget: &Budget,
        scratch: &Scratch,
        out: &mut ColumnWriter<V>,
    ) -> Result<(), StageError> {
        let Group { index, keys, counts, sizes, values, block, .. } = group;
        let base = *index << self.shift;
        let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        let more = total.min(budget.free() / 8);
        let mut many = Vec::new();
        let (room, values, _held) = if more > room as u64 {
            (more as usize, &mut many, Some(budget.reserve("grouping: keys with many values", more * 4)?))
        } else {
            (room, values, None)
        };
        let mut high = keys.end;
        while high > keys.start {
            values.clear();
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
                let keys = low..high;
                positions(counts, base, &keys);
                values.resize(total, V::zeroed());
                self.for_each(*index, block, |pair| {
                    place(pair, counts, base, &keys, values);
                    Ok(())
                })?;
            }
            if low == keys.start {
                self.release(*index, scratch);
            }
            out.extend(values)?;
            high = low;
        }
        Ok(())
    }

    /// Gives the disk space of a file back, once the last of its partitions was read.
    fn release(&self, index: usize, scratch: &Scratch) {
        if index.is_multiple_of(self.partitions_per_file) {
            scratch.measure();
            // Space that stays goes with the file.
            let _ = self.files[index / self.partitions_per_file].file.set_len(0);
        }
    }

    /// Hands every pair of a partition to `each`, in the order in which they came.
    fn for_each(
        &self,
        index: usize,
        block: &mut Vec<u8>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let (partition, base) = (&self.partitions[index], (index << self.shift) as u32);
        let Part { path, file, .. } = &self.files[index / self.partitions_per_file];
        block.resize(self.block_bytes(), 0);
        for &number in &partition.blocks {
            file.read_exact_at(block, u64::from(number) * self.block_bytes() as u64)
                .map_err(|error| StageError::io(path, "read", error))?;
            let (values, keys) = block.split_at(BLOCK_PAIRS * 4);
            let (low, high) = keys.split_at(BLOCK_PAIRS * 2);
            let (values, _) = values.as_chunks::<4>();
            let (low, _) = low.as_chunks::<2>();
            // The bits that the partition tells are also in the keys that were written, so they may come twice.
            let keys = low.iter().map(|&key| base | u32::from(u16::from_ne_bytes(key)));
            let pairs = keys.zip(values.iter().map(|&value| u32::from_ne_bytes(value)));
            if high.is_empty() {
                pairs.into_iter().try_for_each(|(key, value)| each([key, value]))?;
            } else {
                pairs.zip(high).try_for_each(|((key, value), &high)| each([key | u32::from(high) << 16, value]))?;
            }
        }
        partition.buffer.iter().try_for_each(|&pair| each(pair))
    }
}

/// Makes counts of some keys into the positions of their values, descending by key; gives the number of values. Counts
/// of other keys stay.
fn positions(counts: &mut [u32], base: usize, keys: &Range<usize>) -> usize {
    let mut position = 0u32;
    for key in keys.clone().rev() {
        position += std::mem::replace(&mut counts[key - base], position);
    }
    position as usize
}

/// Puts the value of a pair into its place, if its key is one of `keys`.
#[inline]
fn place<V: From32>([key, value]: Pair, positions: &mut [u32], base: usize, keys: &Range<usize>, values: &mut [V]) {
    if keys.contains(&(key as usize)) {
        let position = &mut positions[key as usize - base];
        values[*position as usize] = V::from_u32(value);
        *position += 1;
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
    /// The partition's pairs, if they fit.
    pairs: Vec<Pair>,
    block: Vec<u8>,
    fits: Result<bool, StageError>,
}

impl<V> Default for Group<V> {
    fn default() -> Self {
        let (counts, sizes, values) = (Vec::new(), Vec::new(), Vec::new());
        Self { index: 0, keys: 0..0, counts, sizes, values, pairs: Vec::new(), block: Vec::new(), fits: Ok(false) }
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
        let mut sizes = vec![0; keys];
        sorted.iter().for_each(|pair| sizes[pair[0] as usize] += 1);
        (sizes[1..].iter().rev().copied().collect(), sorted.iter().map(|pair| pair[1]).collect())
    }

    #[test]
    fn groups_equal_a_stable_sort() {
        let mut state = 7u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 4
        };
        let (few, many) = (20_000, 1 << 28);
        // The last three have partitions of keys with 18, 20 and 24 bits, the last one several of them.
        for (keys, count, announced) in [
            (1, 0, 0),
            (2, 10, 10),
            (1000, few, few),
            (1000, few, many),
            (1 << 18, few, few),
            (1 << 22, few, 1 << 20),
            (3 << 23, few, few),
        ] {
            let pairs: Vec<Pair> = (0..count).map(|i| [random() % keys, i]).collect();
            let groups = grouped(&pairs, keys as usize, 256 << 20, announced.into());
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
