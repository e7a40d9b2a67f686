//! The set of each node, and members of sets by class.

use super::group::{Groups, NONE, NUMBER, TOO_LARGE};
use heaplake_kit::array_plan::filled;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ArrayPlan, ColumnReader, ColumnWriter, Job, ReadAt, StageError, WriteAt, on_resident};
use heaplake_schemas::ids::SetId;
use heaplake_schemas::scratch as columns;

/// Writes the set of each node, and counts the members of sets by class. Members of undecided sets are not counted.
pub(super) fn write(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    // Position of each set, above a bit for undecided sets. One bit is free: there are at most half as many sets as
    // nodes.
    let mut ranks = ArrayPlan::of(job, "positions of sets").one(filled(groups.count(), 0u32))?;
    for number in 0..groups.count() {
        let group = groups.get(number)?;
        ranks.set(number, group.repeated_or_rank << 1 | u32::from(group.is_undecided()))?;
    }
    on_resident!(ranks => write_ranks(ranks, job))
}

fn write_ranks(mut ranks: impl ReadAt<u32>, job: &Job<'_>) -> Result<(), StageError> {
    let class_count = job.class_count()?;
    let mut counts = job.context.budget.zeroed::<u64>("duplicates of classes", class_count)?;
    let mut bytes = job.context.budget.zeroed::<u64>("duplicates of classes", class_count)?;
    let mut numbers = ColumnReader::open(job.scratch, NUMBER)?;
    let mut classes = ColumnReader::open(job.scratch, columns::NODE_CLASS)?;
    let mut sizes = ColumnReader::open(job.scratch, columns::NODE_SHALLOW)?;
    let mut sets = ColumnWriter::create(job.scratch, columns::EQUAL_SET)?;
    let mut block = Vec::with_capacity(BLOCK);
    while numbers.remaining() > 0 {
        job.context.check()?;
        let count = numbers.remaining().min(BLOCK as u64) as usize;
        block.clear();
        let nodes = numbers.block(count)?.iter().zip(classes.block(count)?).zip(sizes.block(count)?);
        for ((&number, class), &size) in nodes {
            if number == NONE {
                block.push(SetId::NONE);
                continue;
            }
            let rank = ranks.get(number as usize)?;
            block.push(SetId(rank >> 1));
            if rank & 1 == 0 {
                counts[class.index()] += 1;
                let sum = &mut bytes[class.index()];
                *sum = sum.checked_add(size).ok_or(TOO_LARGE)?;
            }
        }
        sets.extend(&block)?;
    }
    sets.finish()?;
    for (column, values) in [(columns::CLASS_DUPLICATE_COUNT, counts), (columns::CLASS_DUPLICATE_BYTES, bytes)] {
        ColumnWriter::write_all(job.scratch, column, &values)?;
    }
    Ok(())
}
