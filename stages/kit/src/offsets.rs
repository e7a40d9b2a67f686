//! The start of each group of a grouped column, in four bytes per group.

use crate::array::{Fault, ReadAt, Residency, WriteAt};
use crate::{Array, Budget, ColumnMap, ColumnReader, Lookup, Scratch, StageError};
use heaplake_schemas::scratch::Column;
use std::ops::{Deref, Range};

/// Groups that share one 64-bit base.
const BLOCK_BITS: u32 = 12;

/// Start positions of the groups of a column (the edges of each node), from the column of group sizes. Made by
/// [`offsets`](crate::array_plan::offsets).
///
/// A plain array of 64-bit starts would take 8 bytes a node; this one takes 4, plus 8 for every 4,096 nodes.
pub struct Offsets<A = Lookup<u32>, B = ColumnMap<u64>> {
    bases: B,
    relative: A,
}

impl Offsets {
    /// Computes the offsets from `sizes_of`, into an array with one more element. One sequential read.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`], or [`StageError::Scratch`] when 4,096 neighbouring groups hold 2^32
    /// elements or more.
    pub(crate) fn sum(
        mut relative: Array<u32>,
        budget: &Budget,
        scratch: &Scratch,
        sizes_of: Column<u32>,
    ) -> Result<Self, StageError> {
        let mut reader = ColumnReader::open(scratch, sizes_of)?;
        let groups = relative.count() - 1;
        let mut bases = budget.zeroed("offsets: bases", (groups >> BLOCK_BITS) + 1)?;
        let mut start = 0u64;
        for (block, base) in bases.iter_mut().enumerate() {
            let first = block << BLOCK_BITS;
            let count = (groups + 1 - first).min(1 << BLOCK_BITS);
            // The end of the last group is an offset as well.
            let sizes = reader.block(count.min(groups - first))?;
            let (mut end, mut last) = (0u64, 0u64);
            let offsets = sizes.iter().map(|&size| {
                (last, end) = (end, end + u64::from(size));
                last as u32
            });
            match &mut relative {
                Array::Resident(items) => {
                    items[first..first + sizes.len()].iter_mut().zip(offsets).for_each(|(at, offset)| *at = offset);
                }
                Array::Paged(paged) => (first..).zip(offsets).try_for_each(|(at, offset)| paged.set(at, offset))?,
            }
            if sizes.len() < count {
                last = end;
                relative.set(groups, end as u32)?;
            }
            if u32::try_from(last).is_err() {
                let problem = format!("the groups behind {first} hold 2^32 elements or more");
                return Err(StageError::Scratch { path: scratch.path(sizes_of), problem });
            }
            *base = start;
            start += end;
        }
        Ok(Self { bases: ColumnMap::of_array(bases), relative: relative.freeze() })
    }

    /// The same for another thread; nothing if they are behind page frames.
    #[must_use]
    pub fn share(&self) -> Option<Self> {
        Some(Self { bases: self.bases.clone(), relative: self.relative.share()? })
    }
}

impl Residency for Offsets {
    type Resident<'a> = Offsets<&'a [u32], &'a [u64]>;
    type Anywhere<'a> = Offsets<&'a mut Lookup<u32>, &'a [u64]>;

    fn resident(&mut self) -> Option<Self::Resident<'_>> {
        match &self.relative {
            Lookup::Mapped(relative) => Some(Offsets { bases: &self.bases, relative }),
            Lookup::Paged(_) => None,
        }
    }

    fn anywhere(&mut self) -> Self::Anywhere<'_> {
        Offsets { bases: &self.bases, relative: &mut self.relative }
    }
}

impl<A: ReadAt<u32>, B: Deref<Target = [u64]>> Offsets<A, B> {
    /// Position of the first element of `group`; for `group` equal to the number of groups, the number of elements.
    ///
    /// # Errors
    /// [`StageError::Io`] when the array is paged and cannot be read.
    #[inline]
    pub fn start(&mut self, group: usize) -> Result<usize, Fault> {
        Ok((self.bases[group >> BLOCK_BITS] + u64::from(self.relative.get(group)?)) as usize)
    }

    /// Positions of the elements of `group`.
    ///
    /// # Errors
    /// As [`Self::start`].
    #[inline]
    pub fn range(&mut self, group: usize) -> Result<Range<usize>, Fault> {
        Ok(self.start(group)?..self.start(group + 1)?)
    }

    /// Prefetches the start of `group`, which may be out of range.
    #[inline]
    pub fn prefetch(&self, group: usize) {
        self.relative.prefetch(group);
    }

    /// Number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.relative.count() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayPlan, ColumnWriter, array_plan};

    #[test]
    fn starts_are_prefix_sums() {
        const SIZES: Column<u32> = Column::new("sizes");
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, SIZES).unwrap();
        (0..20_000u32).for_each(|i| writer.push(i % 7 + u32::from(i == 9000) * 4_000_000_000).unwrap());
        writer.finish().unwrap();
        let budget = Budget::new(1 << 20);
        let mut offsets = ArrayPlan::new(&budget, &scratch, "test").one(array_plan::offsets(SIZES)).unwrap();
        let mut start = 0usize;
        for i in 0..20_000usize {
            assert_eq!(offsets.start(i).unwrap(), start);
            start += i % 7 + usize::from(i == 9000) * 4_000_000_000;
            assert_eq!(offsets.range(i).unwrap().end, start);
        }
        assert_eq!(offsets.groups(), 20_000);
    }
}
