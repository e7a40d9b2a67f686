//! Stage `moved_ranges`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::moved_ranges`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::moved_ranges::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::MOVES;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "moved_ranges",
    when: |setting| setting.traces(TraceTable::MovedRanges),
    reads: &[column(MOVES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let rows = Rows::of(job.scratch, MOVES);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.from)?,
        rows.u64s(|row| row.to)?,
        rows.sizes(|row| row.bytes)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
