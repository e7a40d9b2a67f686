//! Members of sets by class.

use super::group::{Groups, NONE, NUMBER, TOO_LARGE};
use heaplake_kit::{ColumnReader, ColumnWriter, Job, ReadAt, StageError};
use heaplake_schemas::scratch as columns;

/// Counts the members of sets by class. Members of undecided sets are not counted.
pub fn write(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let class_count = job.class_count()?;
    let mut counts = job.context.budget.zeroed::<u64>("duplicates of classes", class_count)?;
    let mut bytes = job.context.budget.zeroed::<u64>("duplicates of classes", class_count)?;
    let mut numbers = ColumnReader::open(job.scratch, NUMBER)?;
    let mut classes = ColumnReader::open(job.scratch, columns::NODE_CLASS)?;
    let mut sizes = ColumnReader::open(job.scratch, columns::NODE_SHALLOW)?;
    while numbers.remaining() > 0 {
        let (number, class, size) = (numbers.next()?, classes.next()?.index(), sizes.next()?);
        if number != NONE && !groups.get(number as usize)?.is_undecided() {
            counts[class] += 1;
            bytes[class] = bytes[class].checked_add(size).ok_or(TOO_LARGE)?;
        }
    }
    for (column, values) in [(columns::CLASS_DUPLICATE_COUNT, counts), (columns::CLASS_DUPLICATE_BYTES, bytes)] {
        let mut writer = ColumnWriter::create(job.scratch, column)?;
        writer.extend(&values)?;
        writer.finish()?;
    }
    Ok(())
}
