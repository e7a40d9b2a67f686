//! Stage `moved_ranges`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.move`.
//! * Writes: `moved_ranges.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::moved_ranges`].

use crate::rows::{self, Job, Rows};
use heaplake_kit::{StageError, StageInfo, Stats};
use heaplake_schemas::moved_ranges::{FILE, schema};
use heaplake_schemas::replay::MOVES;
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("moved_ranges", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let rows = Rows::of(job.scratch, MOVES);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.from)?,
        rows.u64s(|row| row.to)?,
        rows.u64s(|row| row.bytes)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
