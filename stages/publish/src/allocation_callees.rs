//! Stage `allocation_callees`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.callee`.
//! * Writes: `allocation_callees.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_callees`].

use crate::rows::{self, Job, Rows};
use heaplake_kit::{StageError, StageInfo, Stats};
use heaplake_schemas::allocation_callees::{FILE, schema};
use heaplake_schemas::replay::CALLEES;
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("allocation_callees", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let rows = Rows::of(job.scratch, CALLEES);
    let sources = vec![
        rows.u32s(|row| row.node)?,
        rows.optional_ids(|row| row.parent)?,
        rows.u32s(|row| row.depth)?,
        rows.u32s(|row| row.function_id)?,
        rows.u64s(|row| row.inclusive_samples)?,
        rows.u64s(|row| row.inclusive_bytes)?,
        rows.u64s(|row| row.exclusive_samples)?,
        rows.u64s(|row| row.exclusive_bytes)?,
        rows.u64s(|row| row.inclusive_count)?,
        rows.u64s(|row| row.exclusive_count)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
