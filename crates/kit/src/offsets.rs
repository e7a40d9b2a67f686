//! The start of each group of a grouped column, in little more than a byte per group.

use crate::access::{Size, bits_per_node};
use crate::array::{Fault, ReadAt, Residency, WriteAt};
use crate::{Array, Budget, BudgetVec, ColumnMap, ColumnReader, Lookup, Scratch, StageError};
use bytemuck::{Pod, Zeroable};
use heaplake_schemas::scratch::Column;
use std::ops::Range;

/// Words per block.
const WORDS: usize = 4;

/// Bits of a block's start, followed by the large-group flag and one byte per group with its size.
const START_BITS: u32 = 39;
const HAS_LARGE: u64 = 1 << START_BITS;
const HEAD: usize = 5;

/// Groups per block.
pub(crate) const GROUPS: usize = WORDS * 8 - HEAD;

/// Size byte of a group with at least 255 elements; `large` holds the excess.
const LARGE: u8 = u8::MAX;

/// Groups read at once.
const READ_GROUPS: usize = GROUPS << 7;

/// Mask of the size bytes of the first `n` groups of a block.
const SIZES_OF_FIRST: [[u64; WORDS]; GROUPS + 1] = {
    let mut masks = [[0; WORDS]; GROUPS + 1];
    let mut count = 1;
    while count <= GROUPS {
        masks[count] = masks[count - 1];
        let byte = HEAD + count - 1;
        masks[count][byte / 8] |= 0xff << (byte % 8 * 8);
        count += 1;
    }
    masks
};

/// Start of the first of 27 neighbouring groups, and the sizes of all: half a cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(32))]
pub struct OffsetBlock([u64; WORDS]);

impl OffsetBlock {
    /// Creates a block for groups of these sizes.
    fn new(start: u64, sizes: &[u32]) -> Self {
        let mut bytes = [0; WORDS * 8];
        let mut most = 0;
        for (byte, &size) in bytes[HEAD..].iter_mut().zip(sizes) {
            *byte = size.min(LARGE.into()) as u8;
            most = most.max(size);
        }
        let mut words = bytemuck::cast::<_, [u64; WORDS]>(bytes).map(u64::from_le);
        words[0] |= start | if most >= LARGE.into() { HAS_LARGE } else { 0 };
        Self(words)
    }

    /// Start of group `at` of the block, without the excess of preceding large groups.
    #[inline]
    fn start(&self, at: usize) -> u64 {
        // Sums bytes in four lanes of 16 bits.
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let lanes = self.0.iter().zip(&SIZES_OF_FIRST[at]).fold(0, |lanes, (word, mask)| {
            let sizes = word & mask;
            lanes + (sizes & EVEN) + (sizes >> 8 & EVEN)
        });
        (self.0[0] & (HAS_LARGE - 1)) + (lanes.wrapping_mul(0x0001_0001_0001_0001) >> 48)
    }

    /// Size of group `at`, [`LARGE`] if it is large.
    #[inline]
    fn size(&self, at: usize) -> u64 {
        let byte = HEAD + at;
        self.0[byte / 8] >> (byte % 8 * 8) & 0xff
    }

    #[inline]
    fn has_large(&self) -> bool {
        self.0[0] & HAS_LARGE != 0
    }
}

/// A group of at least [`LARGE`] elements: its number, and its size minus [`LARGE`].
type Excess = [u32; 2];

/// Start positions of the groups of a column (e.g. the edges of each node), computed from the group sizes. Made by
/// [`offsets`](crate::array_plan::offsets).
///
/// A plain array of 64-bit starts would take 8 bytes per node, and two accesses where a group ends in the next cache
/// line. This one takes 32 bytes per 27 groups, with one access per group, and 8 bytes per group of 255 elements or
/// more.
pub struct Offsets<A = Lookup<OffsetBlock>> {
    blocks: A,
    large: ColumnMap<Excess>,
    groups: usize,
}

impl Offsets {
    /// Size of the offsets of one group per node.
    pub const SIZE: Size = bits_per_node(8 * size_of::<OffsetBlock>() as u64 / GROUPS as u64 + 1);

    /// Number of blocks for `groups`.
    pub(crate) fn blocks(groups: usize) -> usize {
        groups / GROUPS + 1
    }

    /// Maximum number of large groups among `elements`.
    pub(crate) fn most_large(elements: usize) -> usize {
        elements / usize::from(LARGE)
    }

    /// Counts large groups. One sequential read.
    pub(crate) fn count_large(scratch: &Scratch, sizes_of: Column<u32>) -> Result<usize, StageError> {
        let mut reader = ColumnReader::open(scratch, sizes_of)?;
        let mut count = 0;
        while reader.remaining() > 0 {
            count += reader.next_slice(usize::MAX)?.iter().filter(|&&size| size >= LARGE.into()).count();
        }
        Ok(count)
    }

    /// Bytes for this many large groups.
    pub(crate) fn large_bytes(large: usize) -> u64 {
        (large * size_of::<Excess>()) as u64
    }

    /// Computes offsets from the column of group sizes into an array of [`Self::blocks`]; at most `most_large` groups
    /// may be large. One sequential read.
    ///
    /// # Errors
    /// [`StageError::Scratch`] when there are 2^39 elements or more.
    pub(crate) fn sum(
        mut blocks: Array<OffsetBlock>,
        [groups, most_large]: [usize; 2],
        budget: &Budget,
        scratch: &Scratch,
        sizes_of: Column<u32>,
    ) -> Result<Self, StageError> {
        let mut reader = ColumnReader::open(scratch, sizes_of)?;
        let mut large = budget.with_room("offsets: large groups", most_large)?;
        let mut start = 0u64;
        for first in (0..=groups).step_by(READ_GROUPS) {
            let sizes = reader.block(READ_GROUPS.min(groups - first))?;
            // The end of the last group is an offset, too.
            let count = Self::blocks(sizes.len()).min(READ_GROUPS / GROUPS);
            for at in 0..count {
                let sizes = &sizes[at * GROUPS..sizes.len().min((at + 1) * GROUPS)];
                let block = OffsetBlock::new(start, sizes);
                if block.has_large() {
                    note_large(&mut large, first + at * GROUPS, sizes)?;
                }
                blocks.set(first / GROUPS + at, block)?;
                start += sizes.iter().map(|&size| u64::from(size)).sum::<u64>();
            }
            if start >= HAS_LARGE {
                let problem = format!("there are more than {HAS_LARGE} elements");
                return Err(StageError::scratch(&scratch.path(sizes_of), problem));
            }
        }
        Ok(Self { blocks: blocks.freeze(), large: ColumnMap::of_array(large), groups })
    }

    /// Returns a second handle for another thread; `None` if paged.
    pub fn share(&self) -> Option<Self> {
        Some(Self { blocks: self.blocks.share()?, large: self.large.clone(), groups: self.groups })
    }
}

/// Records the large groups among those from `first`.
#[cold]
fn note_large(large: &mut BudgetVec<Excess>, first: usize, sizes: &[u32]) -> Result<(), StageError> {
    for (group, &size) in (first..).zip(sizes) {
        if let Some(excess) = size.checked_sub(LARGE.into()) {
            large.push([group as u32, excess])?;
        }
    }
    Ok(())
}

impl Residency for Offsets {
    type Resident<'a> = Offsets<&'a [OffsetBlock]>;
    type Anywhere<'a> = Offsets<&'a mut Lookup<OffsetBlock>>;

    fn resident(&mut self) -> Option<Self::Resident<'_>> {
        match &self.blocks {
            Lookup::Resident(blocks) => Some(Offsets { blocks, large: self.large.clone(), groups: self.groups }),
            Lookup::Paged(_) => None,
        }
    }

    fn anywhere(&mut self) -> Self::Anywhere<'_> {
        Offsets { blocks: &mut self.blocks, large: self.large.clone(), groups: self.groups }
    }
}

impl<A: ReadAt<OffsetBlock>> Offsets<A> {
    /// Returns the position of the first element of `group`; for the number of groups, the number of elements.
    #[inline]
    pub fn start(&mut self, group: usize) -> Result<usize, Fault> {
        let block = self.blocks.get(group / GROUPS)?;
        let start = block.start(group % GROUPS);
        Ok((if block.has_large() { start + self.excess(group).0 } else { start }) as usize)
    }

    /// Returns the positions of the elements of `group`.
    #[inline]
    pub fn range(&mut self, group: usize) -> Result<Range<usize>, Fault> {
        let (block, at) = (self.blocks.get(group / GROUPS)?, group % GROUPS);
        let (mut start, mut size) = (block.start(at), block.size(at));
        if block.has_large() {
            let (before, own) = self.excess(group);
            (start, size) = (start + before, size + own);
        }
        Ok(start as usize..(start + size) as usize)
    }

    /// Excess elements of the block's large groups before `group`, and of `group` itself.
    #[cold]
    fn excess(&self, group: usize) -> (u64, u64) {
        let first = (group - group % GROUPS) as u32;
        let from = self.large.partition_point(|&[large, _]| large < first);
        let (mut before, mut own) = (0, 0);
        for &[large, excess] in self.large[from..].iter().take_while(|[large, _]| *large as usize <= group) {
            *(if large as usize == group { &mut own } else { &mut before }) += u64::from(excess);
        }
        (before, own)
    }

    /// Prefetches the start of `group`, which may be out of range.
    #[inline]
    pub fn prefetch(&self, group: usize) {
        self.blocks.prefetch(group / GROUPS);
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayPlan, ColumnWriter, array_plan};

    const SIZES: Column<u32> = Column::new("sizes");
    const ELEMENTS: Column<u8> = Column::new("elements");

    /// Checks starts against prefix sums, resident and paged.
    fn starts_are_sums(sizes: &[u32]) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, SIZES).unwrap();
        sizes.iter().for_each(|&size| writer.push(size).unwrap());
        writer.finish().unwrap();
        let mut writer = ColumnWriter::create(&scratch, ELEMENTS).unwrap();
        let count = sizes.iter().map(|&size| u64::from(size)).sum::<u64>().min(50_000_000);
        writer.extend(&vec![0; count as usize]).unwrap();
        writer.finish().unwrap();
        for memory in [64 << 20, 2 << 20] {
            let budget = Budget::new(memory);
            let mut plan = ArrayPlan::new(&budget, &scratch, "test");
            let mut offsets = plan.one(array_plan::offsets(SIZES, ELEMENTS)).unwrap();
            let mut start = 0usize;
            for (group, &size) in sizes.iter().enumerate() {
                assert_eq!(offsets.start(group).unwrap(), start);
                assert_eq!(offsets.range(group).unwrap(), start..start + size as usize, "{group}");
                start += size as usize;
            }
            assert_eq!((offsets.start(sizes.len()).unwrap(), offsets.groups()), (start, sizes.len()));
        }
    }

    #[test]
    fn starts_are_prefix_sums() {
        let large = |i: u32| if i == 9000 { 4_000_000_000 } else { 0 };
        starts_are_sums(&(0..20_000).map(|i| i % 7 + large(i)).collect::<Vec<_>>());
        // More than the small budget takes, with all sizes around the byte limit.
        starts_are_sums(&(0..1_500_000).map(|i| if i % 1000 < 60 { 230 + i % 60 } else { i % 3 }).collect::<Vec<_>>());
    }

    #[test]
    fn large_groups_take_no_more_than_the_page_frames() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, SIZES).unwrap();
        // Some large groups, but elements for many more.
        (0..1_500_000u32).for_each(|i| writer.push(if i % 50 == 0 { 300 } else { 90 }).unwrap());
        writer.finish().unwrap();
        let mut writer = ColumnWriter::create(&scratch, ELEMENTS).unwrap();
        writer.extend(&vec![0; 50_000_000]).unwrap();
        writer.finish().unwrap();
        let budget = Budget::new((1 << 20) + (64 << 10));
        let mut offsets = ArrayPlan::new(&budget, &scratch, "test").one(array_plan::offsets(SIZES, ELEMENTS)).unwrap();
        assert_eq!(offsets.range(100_000).unwrap(), 2_000 * 300 + 98_000 * 90..2_001 * 300 + 98_000 * 90);
        assert!(budget.peak() <= budget.limit());
    }

    #[test]
    fn any_number_of_groups_has_an_end() {
        for count in [0, 1, GROUPS - 1, GROUPS, GROUPS + 1, READ_GROUPS - 1, READ_GROUPS, READ_GROUPS + 1] {
            starts_are_sums(&vec![u32::from(LARGE); count]);
            starts_are_sums(&vec![u32::from(LARGE) - 1; count]);
        }
    }

    #[test]
    fn so_many_elements_that_their_number_has_no_room_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, SIZES).unwrap();
        (0..129).for_each(|_| writer.push(u32::MAX).unwrap());
        writer.finish().unwrap();
        let budget = Budget::new(1 << 20);
        let made = ArrayPlan::new(&budget, &scratch, "test").one(array_plan::offsets(SIZES, ELEMENTS));
        assert!(matches!(made.map(drop), Err(StageError::Scratch { .. })));
    }
}
