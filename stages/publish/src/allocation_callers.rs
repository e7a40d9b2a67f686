//! Stage `allocation_callers`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_callers`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::allocation_callers::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::CALLERS;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "allocation_callers",
    when: |setting| setting.traces(TraceTable::AllocationCallers),
    reads: &[column(CALLERS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let rows = Rows::of(job.scratch, CALLERS);
    let sources = vec![
        rows.positions(),
        rows.optional_ids(|row| row.parent)?,
        rows.u32s(|row| row.depth)?,
        rows.u32s(|row| row.type_id)?,
        rows.u32s(|row| row.function_id)?,
        rows.sizes(|row| row.samples)?,
        rows.sizes(|row| row.sampled_bytes)?,
        rows.sizes(|row| row.estimated_bytes)?,
        rows.sizes(|row| row.estimated_count)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
