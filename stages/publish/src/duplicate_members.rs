//! Stage `members table`: the nodes of each set of duplicates.
//!
//! * Resident memory: a batch of a column for each thread, and a row group.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the columns.
//! * Reference: the contract of [`heaplake_schemas::duplicate_members`].

use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::column;
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats};
use heaplake_lake::source::{Source, array};
use heaplake_schemas::duplicate_members::TABLE;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch as columns;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "members table",
    when: |setting| setting.has(TableName::DuplicateMembers) && setting.duplicates(),
    reads: &[column(columns::SET_ROW), column(columns::SET_MEMBER)],
    fixed: BYTES,
    passes: "members once",
    run,
    ..Stage::NEW
};

/// Maximum bytes of the writer of two narrow columns.
const BYTES: u64 = 16 << 20;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let scratch = job.scratch;
    let count = ColumnReader::open(scratch, columns::SET_MEMBER)?.remaining();
    let _writer = job.context.budget.reserve("members: Parquet writer", BYTES)?;
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let (mut next, mut left) = (0u32, 0u32);
    let sets = Source::values(move |count| {
        let mut sets = Vec::with_capacity(count);
        while sets.len() < count {
            if left == 0 {
                left = rows.next()?.members;
                next += 1;
            }
            let many = (left as usize).min(count - sets.len());
            sets.resize(sets.len() + many, next - 1);
            left -= many as u32;
        }
        Ok(array::<UInt32Type>(sets))
    });
    let members = Source::column::<_, UInt32Type>(scratch, columns::SET_MEMBER)?;
    write(job, STAGE.name, &TABLE, vec![sets, members], count)
}
