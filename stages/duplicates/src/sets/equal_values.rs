//! Sets if references are not compared: nodes with equal values.
//!
//! The first node of a set in node order is its first member; the others find the set by its number. Beyond that a row
//! needs only a count and flags.

use super::group::{Group, Groups, NONE, NUMBER, TOO_LARGE};
use super::numbers;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{Array, ArrayPlan, Bitset, ColumnReader, Job, ReadAt, Scratch, StageError, WriteAt, on_resident};
use heaplake_schemas::scratch as columns;

/// Counters of a set.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Tally {
    members: u32,
    /// Reasons why the set is undecided.
    reasons: u32,
}

/// Numbers the sets, and writes the number of each node's set.
pub(super) fn assign(nodes: usize, job: &Job<'_>) -> Result<Groups, StageError> {
    let (several, count) = several(nodes, job)?;
    let mut groups = numbers::groups(count, job)?;
    let (mut numbers, mut tallies) =
        ArrayPlan::of(job, "numbers of sets").make((filled(nodes, NONE), filled(count, Tally::default())))?;
    on_resident!(numbers, tallies => fill(&several, numbers, tallies, &mut groups, job))?;
    note_undecided(&mut numbers, &mut tallies, job.scratch)?;
    for number in 0..count {
        let Tally { members, reasons } = tallies.get(number)?;
        groups.change(number, |group| {
            group.members = members;
            group.reasons = reasons as u16;
            // Nodes with references are left undecided.
            group.exact = group.trivial;
            group.least = group.bytes;
            let sum = group.bytes.checked_mul(members.into());
            sum.map(|sum| group.sum = sum).ok_or(TOO_LARGE)
        })??;
    }
    numbers.write_to(job.scratch, NUMBER)?;
    Ok(groups)
}

/// Returns the first node of each value that several nodes have, and the number of such values.
fn several(nodes: usize, job: &Job<'_>) -> Result<(Bitset, usize), StageError> {
    let mut several = Bitset::new(&job.context.budget, "groups of several nodes", nodes)?;
    let mut firsts = ColumnReader::open(job.scratch, columns::EQUAL_VALUE)?;
    let mut count = 0;
    for start in (0..nodes).step_by(BLOCK) {
        job.context.check()?;
        for (node, first) in (start..).zip(firsts.block(BLOCK.min(nodes - start))?) {
            if first.index() != node {
                count += usize::from(several.insert(first.index()));
            }
        }
    }
    Ok((several, count))
}

/// Numbers the sets and counts their members. `numbers` is by node.
fn fill(
    several: &Bitset,
    mut numbers: impl WriteAt<u32>,
    mut tallies: impl WriteAt<Tally>,
    groups: &mut Groups,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let (scratch, nodes) = (job.scratch, numbers.count());
    let mut firsts = ColumnReader::open(scratch, columns::EQUAL_VALUE)?;
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut limits = ColumnReader::if_any(scratch, columns::EQUAL_LIMITS)?;
    let mut met = 0;
    for start in (0..nodes).step_by(BLOCK) {
        let count = BLOCK.min(nodes - start);
        job.context.step(count as u64)?;
        let (firsts, degrees, sizes) = (firsts.block(count)?, degrees.block(count)?, sizes.block(count)?);
        let limits = limits.as_mut().map(|limits| limits.block(count)).transpose()?;
        for (at, first) in firsts.iter().enumerate() {
            let (node, first) = (start + at, first.index());
            let number = if first != node {
                numbers.get(first)?
            } else if several.contains(node) {
                met += 1;
                let trivial = u8::from(degrees[at] == 0);
                let group = Group { example: node as u32, bytes: sizes[at], trivial, ..Group::empty() };
                groups.set(met - 1, group)?;
                (met - 1) as u32
            } else {
                continue;
            };
            numbers.set(node, number)?;
            let reasons = limits.map_or(0, |limits| u32::from(limits[at]));
            tallies.change(number as usize, |tally| {
                tally.members += 1;
                tally.reasons |= reasons;
            })?;
        }
    }
    Ok(())
}

/// Records the undecided sets and their reasons.
fn note_undecided(numbers: &mut Array<u32>, tallies: &mut Array<Tally>, scratch: &Scratch) -> Result<(), StageError> {
    let mut undecided = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    while undecided.remaining() > 0 {
        let (number, reason) = (numbers.get(undecided.next()?.index())?, reasons.next()?);
        if number != NONE {
            tallies.change(number as usize, |tally| tally.reasons |= u32::from(reason))?;
        }
    }
    Ok(())
}
