//! Numbers the groups of two or more nodes, in the order of their first members, if references are compared.

use super::additional;
use super::group::{Group, Groups, NONE, NUMBER};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, Bitset, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::scratch as columns;

/// Memory that must stay free beside the groups: for the last comparison and eight paged arrays of a mebibyte.
pub(super) const LATER: u64 = additional::BYTES + (8 << 20);

/// Numbers the groups, and writes the number of each node's group. Also returns the size of all nodes, bytes.
pub(super) fn assign(nodes: usize, job: &Job<'_>) -> Result<(Groups, u64), StageError> {
    let (several, count) = several(nodes, job)?;
    let mut groups = groups(count, job)?;
    // Before the array, which would take its memory.
    let seen = Bitset::new(&job.context.budget, "certificates of sets", nodes)?;
    let mut numbers = ArrayPlan::of(job, "numbers of sets").one(filled(nodes, NONE))?;
    let whole = fill(&several, seen, &mut numbers, &mut groups, job)?;
    note_undecided(&mut numbers, &mut groups, job.scratch)?;
    Ok((groups, whole))
}

/// Returns an array of empty groups.
pub(super) fn groups(count: usize, job: &Job<'_>) -> Result<Groups, StageError> {
    // The groups exist until the end; other arrays are allocated and released beside them.
    let budget = &job.context.budget;
    let _later = budget.reserve("arrays to come", (budget.free() / 2).max(LATER))?;
    ArrayPlan::of(job, "sets of duplicates").one(filled(count, Group::empty()))
}

/// Returns the representatives of groups of two or more nodes, and their number.
fn several(nodes: usize, job: &Job<'_>) -> Result<(Bitset, usize), StageError> {
    let mut one = Bitset::new(&job.context.budget, "groups", nodes)?;
    let mut several = Bitset::new(&job.context.budget, "groups of several nodes", nodes)?;
    let mut group_of = ColumnReader::open(job.scratch, columns::EQUAL_GROUP)?;
    let mut count = 0;
    for _ in 0..nodes {
        let group = group_of.next()?.index();
        if !one.insert(group) && several.insert(group) {
            count += 1;
        }
    }
    Ok((several, count))
}

/// Numbers the groups and counts their members and certificates; returns the size of all nodes. `numbers` is indexed by
/// the representative of a group; no certificate is `seen` yet.
fn fill(
    several: &Bitset,
    mut seen: Bitset,
    numbers: &mut Array<u32>,
    groups: &mut Groups,
    job: &Job<'_>,
) -> Result<u64, StageError> {
    let scratch = job.scratch;
    let (mut met, mut whole) = (0, 0_u64);
    let mut group_of = ColumnReader::open(scratch, columns::EQUAL_GROUP)?;
    let mut certificates = ColumnReader::open(scratch, columns::EQUAL_CERTIFICATE)?;
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let mut bytes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut writer = ColumnWriter::create(scratch, NUMBER)?;
    for node in 0..numbers.count() as u32 {
        let (group, certificate) = (group_of.next()?.index(), certificates.next()?.0);
        let (degree, bytes) = (degrees.next()?, bytes.next()?);
        whole = whole.saturating_add(bytes);
        if !several.contains(group) {
            writer.push(NONE)?;
            continue;
        }
        let mut number = numbers.get(group)?;
        if number == NONE {
            number = met;
            met += 1;
            numbers.set(group, number)?;
            let trivial = u8::from(degree == 0);
            let first = Group { example: node, certificate, bytes, trivial, exact: 1, ..Group::empty() };
            groups.set(number as usize, first)?;
        }
        writer.push(number)?;
        let is_new = seen.insert(certificate as usize);
        groups.change(number as usize, |group| {
            group.members += 1;
            group.repeated_or_rank = group.repeated_or_rank.wrapping_sub(is_new.into());
            if group.certificate != certificate {
                group.exact = 0;
            }
        })?;
    }
    writer.finish()?;
    Ok(whole)
}

/// Records the undecided groups and their reasons.
fn note_undecided(numbers: &mut Array<u32>, groups: &mut Groups, scratch: &Scratch) -> Result<(), StageError> {
    let mut undecided = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnReader::open(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    while undecided.remaining() > 0 {
        let (number, reason) = (numbers.get(undecided.next()?.index())?, reasons.next()?);
        if number != NONE {
            groups.change(number as usize, |group| (group.reasons, group.exact) = (group.reasons | reason, 0))?;
        }
    }
    Ok(())
}
