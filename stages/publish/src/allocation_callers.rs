//! Stage `allocation_callers`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.caller`.
//! * Writes: `allocation_callers.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_callers`].

use crate::rows::{self, Job, Rows};
use heaplake_kit::{StageError, StageInfo, Stats};
use heaplake_schemas::allocation_callers::{FILE, schema};
use heaplake_schemas::replay::CALLERS;
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("allocation_callers", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let rows = Rows::of(job.scratch, CALLERS);
    let sources = vec![
        rows.u32s(|row| row.node)?,
        rows.optional_ids(|row| row.parent)?,
        rows.u32s(|row| row.depth)?,
        rows.u32s(|row| row.type_id)?,
        rows.u32s(|row| row.function_id)?,
        rows.u64s(|row| row.samples)?,
        rows.u64s(|row| row.sampled_bytes)?,
        rows.u64s(|row| row.estimated_bytes)?,
        rows.u64s(|row| row.estimated_count)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
