//! Stage `walk_objects`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.walk_object`.
//! * Writes: `walk_objects.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::walk_objects`].

use crate::rows::{self, Job, Rows};
use heaplake_kit::{StageError, StageInfo, Stats};
use heaplake_schemas::replay::WALK_OBJECTS;
use heaplake_schemas::run::Table;
use heaplake_schemas::walk_objects::{FILE, schema};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("walk_objects", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let rows = Rows::of(job.scratch, WALK_OBJECTS);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.address)?,
        rows.optional_ids(|row| row.object)?,
        rows.optional_ids(|row| row.type_id)?,
        rows.optional(|row| row.bytes)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
