//! Stage `samples`: writes the time line of allocations to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::samples`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::source::{Source, array};
use heaplake_schemas::options::TableName;
use heaplake_schemas::samples::{FILE, ROWS, schema};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "samples",
    when: |setting| setting.has(TableName::Samples),
    reads: &[column(ROWS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let rows = Rows::of(job.scratch, ROWS);
    let mut next = 0;
    let sources = vec![
        Source::values(move |count| {
            let first = next;
            next += count as u32;
            Ok(array::<UInt32Type>((first..next).collect()))
        }),
        rows.fractions(|row| row.time as f64 / 1e6)?,
        rows.u64s(|row| row.last_id)?,
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.bytes)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
