//! The data of a set before sets are sorted.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::column::BLOCK;
use heaplake_kit::sorter::Sorter;
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{Array, ColumnReader, ColumnWriter, Job, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::{Column, Per, limits};
use std::ops::Range;

/// Number of members of each set, by number of its group, the last set first.
pub(super) const GROUP_SIZES: Column<u32> = Column::of("set.group_sizes", Per::Node);
pub(super) const GROUP_MEMBERS: Column<u32> = Column::of("set.group_members", Per::Node);

/// Number of each node's group; [`NONE`] for a group of one node.
pub(super) const NUMBER: Column<u32> = Column::of("equal.number", Per::Node);

/// No group, or no component.
pub(super) const NONE: u32 = u32::MAX;

/// The error for a sum that exceeds 64 bits.
pub(super) const TOO_LARGE: StageError = StageError::Overflow("the size of duplicates");

/// Reasons why it is undecided whether the members of a set are duplicates.
pub(super) const UNDECIDED: u16 = limits::MODE | limits::WORK;

pub(super) type Groups = Array<Group>;

/// The data of a set so far.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Group {
    /// Sum of the private sizes of its components, bytes.
    pub sum: u64,
    /// Least private size of its components, bytes.
    pub least: u64,
    /// Additional bytes if computed by comparison; else their upper bound, if computed.
    pub additional: u64,
    /// Size of a member, bytes.
    pub bytes: u64,
    /// Position of its first member.
    pub start: u64,
    pub example: u32,
    pub members: u32,
    pub certificate: u32,
    /// The component of the last added member.
    pub component: u32,
    pub reasons: u16,
    pub trivial: u8,
    /// 1 if all members have one certificate, 2 if the additional bytes were computed by comparison.
    pub exact: u8,
    /// Number of components of its members minus number of certificates, in two's complement; once the sets are sorted,
    /// its position in their order.
    pub repeated_or_rank: u32,
}

impl Group {
    pub(super) fn empty() -> Self {
        Self { least: u64::MAX, component: NONE, ..Self::zeroed() }
    }

    /// Whether it is undecided that its members are duplicates.
    pub(super) fn is_undecided(&self) -> bool {
        self.reasons & UNDECIDED != 0
    }

    /// Adds a member: its component, the private size of the component, and flags for data missing in the input.
    pub(super) fn add(&mut self, component: u32, bytes: u64, flags: u8) -> Result<(), StageError> {
        self.reasons |= u16::from(flags);
        if self.component != component {
            self.component = component;
            self.repeated_or_rank = self.repeated_or_rank.wrapping_add(1);
            self.sum = self.sum.checked_add(bytes).ok_or(TOO_LARGE)?;
            self.least = self.least.min(bytes);
        }
        Ok(())
    }

    /// The additional bytes if all members are duplicates: exact, or the best estimate.
    pub(super) fn additional(&self) -> u64 {
        match self.exact {
            0 if self.is_undecided() => {
                self.bytes.saturating_mul(u64::from(self.members) - 1).min(self.most().unwrap_or(u64::MAX))
            }
            2 => self.additional,
            _ => self.sum - self.least,
        }
    }

    /// Lower bound of the additional bytes: nodes with one certificate are duplicates, unless data is missing in the
    /// input. A component has at least one member, and all members of a component reach the same nodes.
    pub(super) fn certain(&self) -> u64 {
        if self.reasons & !UNDECIDED != 0 {
            return 0;
        }
        if !self.is_undecided() {
            return self.additional();
        }
        let repeated = self.repeated_or_rank.cast_signed().max(0).unsigned_abs();
        self.bytes.saturating_mul(repeated.into()).min(self.additional())
    }

    /// Upper bound of the additional bytes; `None` if references were not followed.
    pub(super) fn most(&self) -> Option<u64> {
        match self.exact {
            0 if self.reasons & limits::MODE != 0 => None,
            0 | 2 => Some(self.additional),
            _ => Some(self.sum - self.least),
        }
    }

    /// Positions of its members in [`GROUP_MEMBERS`].
    pub(super) fn range(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.members as usize
    }
}

/// Groups the members by set: in memory if they fit, else on disk.
pub(super) fn collect_members(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let mut members = 0;
    // The last key comes first.
    for number in (0..groups.count()).rev() {
        groups.change(number, |group| {
            group.start = members;
            members += u64::from(group.members);
        })?;
    }
    // At most one member per node, so 32 bits suffice.
    let budget = &job.context.budget;
    let room = (groups.count() as u64 + members) * size_of::<u32>() as u64;
    if room <= budget.free() / 2 {
        let mut next = budget.zeroed("members of sets", groups.count())?;
        for (number, next) in next.iter_mut().enumerate() {
            *next = groups.get(number)?.start as u32;
        }
        let mut all = budget.zeroed("members of sets", members as usize)?;
        place_members(&mut next, &mut all, job)?;
        return ColumnWriter::write_all(job.scratch, GROUP_MEMBERS, &all).map(drop);
    }
    spill_members(groups.count(), members, job)
}

/// Writes each member to the next place of its set.
fn place_members(next: &mut [u32], all: &mut [u32], job: &Job<'_>) -> Result<(), StageError> {
    let mut numbers = ColumnReader::open(job.scratch, NUMBER)?;
    let mut node = 0;
    while numbers.remaining() > 0 {
        job.context.check()?;
        for &number in numbers.next_slice(BLOCK)? {
            if number != NONE {
                let place = &mut next[number as usize];
                all[*place as usize] = node;
                *place += 1;
            }
            node += 1;
        }
    }
    Ok(())
}

/// Like [`place_members`], on disk.
fn spill_members(sets: usize, members: u64, job: &Job<'_>) -> Result<(), StageError> {
    let mut spill = PairSpill::create(&job.context.budget, job.scratch, "set.pairs", sets, members)?;
    let mut numbers = ColumnReader::open(job.scratch, NUMBER)?;
    for node in 0..numbers.remaining() as u32 {
        let number = numbers.next()?;
        if number != NONE {
            spill.push(number, node)?;
        }
    }
    spill.write_groups(job.scratch, job.context, 0, GROUP_SIZES, GROUP_MEMBERS)
}

/// A set with a number of bytes. Sorted by bytes in descending order, then by number, the order of first members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Ranked {
    below_most: u64,
    pub number: u32,
    unused: u32,
}

impl Ranked {
    pub(super) fn new(bytes: u64, number: usize) -> Self {
        Self { below_most: u64::MAX - bytes, number: number as u32, unused: 0 }
    }
}

const RANKED: [Column<Ranked>; 2] = [Column::new("set.ranked"), Column::new("set.ranked_merged")];

pub(super) fn sorter<'a>(most: usize, job: &Job<'a>) -> Result<Sorter<'a, Ranked>, StageError> {
    Sorter::new("order of sets", most, RANKED, &job.context.budget, job.scratch)
}
