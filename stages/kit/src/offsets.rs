//! Where each group of a grouped column begins, in four bytes per group.

use crate::{Budget, BudgetVec, ColumnReader, Scratch, StageError};
use heaplake_schemas::scratch::Column;
use std::ops::Range;

/// Groups that share one 64-bit base.
const BLOCK_BITS: u32 = 12;

/// Start positions of the groups of a column (the edges of each node), from the column of group sizes.
///
/// A plain array of 64-bit starts would take 8 bytes a node; this one takes 4, plus 8 for every 4,096 nodes.
pub struct Offsets {
    bases: BudgetVec<u64>,
    relative: BudgetVec<u32>,
}

impl Offsets {
    /// Sums up `sizes`. One sequential read.
    ///
    /// # Errors
    /// [`StageError::Budget`], [`StageError::Io`], or [`StageError::Scratch`] when 4,096 neighbouring groups hold 2^32
    /// elements or more.
    pub fn load(budget: &Budget, who: &'static str, scratch: &Scratch, sizes: Column<u32>) -> Result<Self, StageError> {
        let mut reader = ColumnReader::open(scratch, sizes)?;
        let groups = reader.remaining() as usize;
        let mut bases = budget.zeroed(who, (groups >> BLOCK_BITS) + 1)?;
        let mut relative = budget.zeroed(who, groups + 1)?;
        let mut start = 0u64;
        for group in 0..=groups {
            if group & ((1 << BLOCK_BITS) - 1) == 0 {
                bases[group >> BLOCK_BITS] = start;
            }
            relative[group] = u32::try_from(start - bases[group >> BLOCK_BITS]).map_err(|_| StageError::Scratch {
                path: scratch.path(sizes),
                problem: format!("the groups around {group} hold 2^32 elements or more"),
            })?;
            if group < groups {
                start += u64::from(reader.next()?);
            }
        }
        Ok(Self { bases, relative })
    }

    /// Position of the first element of `group`; for the number of groups itself, the number of elements.
    #[inline]
    #[must_use]
    pub fn start(&self, group: usize) -> usize {
        (self.bases[group >> BLOCK_BITS] + u64::from(self.relative[group])) as usize
    }

    /// Positions of the elements of `group`.
    #[inline]
    #[must_use]
    pub fn range(&self, group: usize) -> Range<usize> {
        self.start(group)..self.start(group + 1)
    }

    /// Number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.relative.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnWriter;

    #[test]
    fn starts_are_prefix_sums() {
        const SIZES: Column<u32> = Column::new("sizes");
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, SIZES).unwrap();
        (0..20_000u32).for_each(|i| writer.push(i % 7 + u32::from(i == 9000) * 4_000_000_000).unwrap());
        writer.finish().unwrap();
        let offsets = Offsets::load(&Budget::new(1 << 20), "test", &scratch, SIZES).unwrap();
        let mut start = 0usize;
        for i in 0..20_000usize {
            assert_eq!(offsets.start(i), start);
            start += i % 7 + usize::from(i == 9000) * 4_000_000_000;
            assert_eq!(offsets.range(i).end, start);
        }
        assert_eq!(offsets.groups(), 20_000);
    }
}
