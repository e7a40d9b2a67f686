//! Writes the groups of a partition that does not fit, one key range at a time.
//!
//! Each range has as many keys as fit, or one. A few ranges take one pass over the partition each. If there are more,
//! because few keys have most of the pairs, one pass first splits the pairs of many ranges, and each range is read
//! once.

use super::blocks::Blocks;
use super::groups::{From32, Group, place, positions};
use super::pairs::{BLOCK_PAIRS, BUFFER_BYTES, Pair, PairSpill, Partition};
use crate::{ColumnWriter, Context, Scratch, StageError};
use bytemuck::Pod;
use std::ops::Range;

/// Maximum number of ranges handled with one pass each.
const FEW: usize = 2;
/// Maximum number of ranges split in one pass.
const AT_ONCE: usize = 64;

impl PairSpill {
    /// Writes the values of a partition with more than `room` values, from the last key down. Releases the file of the
    /// partition after the last pass.
    pub(super) fn write_parts<V: Pod + From32>(
        &self,
        group: &mut Group<V>,
        room: usize,
        scratch: &Scratch,
        context: &Context<'_>,
        out: &mut ColumnWriter<V>,
    ) -> Result<(), StageError> {
        let budget = &context.budget;
        let base = group.index << self.shift;
        let total: u64 = group.sizes.iter().map(|&size| u64::from(size)).sum();
        let more = total.min(budget.free() / 8) as usize;
        let mut many = Vec::new();
        let (room, values, _held) = if more > room {
            (more, &mut many, Some(budget.reserve("grouping: keys with many values", more as u64 * 4)?))
        } else {
            (room, &mut group.values, None)
        };
        let ranges = ranges(&group.counts, base, &group.keys, room);
        let mut of_range = RangeValues { base, counts: &mut group.counts, values, block: &mut group.block };
        let at_once = AT_ONCE.min((budget.free() / 2) as usize / BUFFER_BYTES).max(1);
        let mut left = ranges.len();
        for ranges in ranges.chunks(at_once) {
            context.check()?;
            left -= ranges.len();
            let for_parts = (ranges.len() * BUFFER_BYTES + (1 << self.shift)) as u64;
            if ranges.len() <= FEW || budget.free() < for_parts {
                for (nth, range) in ranges.iter().enumerate() {
                    of_range.take(range, &(self, group.index), out)?;
                    if left == 0 && nth + 1 == ranges.len() {
                        self.release(group.index, scratch);
                    }
                    out.extend(of_range.values)?;
                }
                continue;
            }
            let _buffers = budget.reserve("grouping: ranges of keys", for_parts)?;
            let parts = self.apart(ranges, group.index, left == 0, of_range.block, scratch)?;
            if left == 0 {
                self.release(group.index, scratch);
            }
            for (range, part) in ranges.iter().zip(parts) {
                context.check()?;
                of_range.take(range, &part, out)?;
                drop(part);
                out.extend(of_range.values)?;
            }
        }
        Ok(())
    }

    /// Splits the pairs by ranges, which are contiguous and descend. The last pass over the partition frees its disk
    /// space on the way, so that both together take little more than before.
    fn apart(
        &self,
        ranges: &[Range<usize>],
        index: usize,
        is_last: bool,
        block: &mut Vec<u8>,
        scratch: &Scratch,
    ) -> Result<Vec<Part<'_>>, StageError> {
        let base = index << self.shift;
        let mut of = vec![u8::MAX; 1 << self.shift];
        for (nth, range) in (0..).zip(ranges) {
            of[range.start - base..range.end - base].fill(nth);
        }
        let part = |_| Part { spill: self, index, pairs: Partition::default(), file: Blocks::new(scratch) };
        let mut parts: Vec<Part<'_>> = ranges.iter().map(part).collect();
        let mut written = Vec::new();
        let each = |pair: Pair| match parts.get_mut(usize::from(of[pair[0] as usize - base])) {
            Some(part) => part.push(pair, &mut written),
            None => Ok(()),
        };
        match is_last {
            true => self.for_each_freed(index, block, each)?,
            false => self.for_each(index, block, each)?,
        }
        scratch.measure();
        Ok(parts)
    }
}

/// Splits the keys, from the last one down, into ranges of at most `room` values, or of one key.
fn ranges(counts: &[u32], base: usize, keys: &Range<usize>, room: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut high) = (Vec::new(), keys.end);
    while high > keys.start {
        let (mut low, mut total) = (high, 0usize);
        while low > keys.start && total + counts[low - 1 - base] as usize <= room {
            low -= 1;
            total += counts[low - base] as usize;
        }
        // A key with more values than fit is a range of its own.
        let low = low.min(high - 1);
        ranges.push(low..high);
        high = low;
    }
    ranges
}

/// An iterable set of pairs.
trait Pairs {
    /// Passes every pair to `each`, in insertion order.
    fn each(&self, block: &mut Vec<u8>, each: impl FnMut(Pair) -> Result<(), StageError>) -> Result<(), StageError>;
}

/// A partition of a spill.
impl Pairs for (&PairSpill, usize) {
    fn each(&self, block: &mut Vec<u8>, each: impl FnMut(Pair) -> Result<(), StageError>) -> Result<(), StageError> {
        self.0.for_each(self.1, block, each)
    }
}

/// The pairs of a key range of a partition, and their file.
struct Part<'a> {
    spill: &'a PairSpill,
    index: usize,
    pairs: Partition,
    file: Blocks,
}

impl Part<'_> {
    #[inline]
    fn push(&mut self, pair: Pair, block: &mut Vec<u8>) -> Result<(), StageError> {
        self.pairs.buffer.push(pair);
        if self.pairs.buffer.len() < BLOCK_PAIRS {
            return Ok(());
        }
        self.pairs.flush(self.spill.shift, block, &mut self.file)
    }
}

impl Pairs for Part<'_> {
    fn each(
        &self,
        block: &mut Vec<u8>,
        mut each: impl FnMut(Pair) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        self.spill.for_each_in(self.index, &self.file, &self.pairs.blocks, block, &mut each)?;
        self.pairs.buffer.iter().try_for_each(|&pair| each(pair))
    }
}

/// Sorts the values of a range.
struct RangeValues<'a, V> {
    base: usize,
    /// Number of values per key of the partition.
    counts: &'a mut [u32],
    values: &'a mut Vec<V>,
    block: &'a mut Vec<u8>,
}

impl<V: Pod + From32> RangeValues<'_, V> {
    /// Sorts the values of a range. A single key needs no sort; its values are streamed.
    fn take(&mut self, range: &Range<usize>, pairs: &impl Pairs, out: &mut ColumnWriter<V>) -> Result<(), StageError> {
        self.values.clear();
        if range.len() == 1 {
            return pairs.each(self.block, |[key, value]| {
                if key as usize == range.start { out.push(V::from_u32(value)) } else { Ok(()) }
            });
        }
        let total = positions(self.counts, self.base, range);
        if total == 0 {
            return Ok(());
        }
        self.values.resize(total, V::zeroed());
        pairs.each(self.block, |pair| {
            place(pair, self.counts, self.base, range, self.values);
            Ok(())
        })
    }
}
