//! Stage `allocation_types`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.type`, names of types.
//! * Writes: `allocation_types.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_types`].

use crate::rows::{self, Job, Rows};
use crate::text::Texts;
use arrow::datatypes::UInt32Type;
use heaplake_kit::{StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::allocation_types::{FILE, schema};
use heaplake_schemas::replay::{TYPE_NAMES, TYPES};
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("allocation_types", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let rows = Rows::of(job.scratch, TYPES);
    let sources = vec![
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.optional(|row| row.allocated_count)?,
        rows.u64s(|row| row.sampled_count)?,
        rows.u64s(|row| row.sampled_bytes)?,
        rows.optional(|row| row.estimated_bytes)?,
        rows.optional(|row| row.low_bytes)?,
        rows.optional(|row| row.high_bytes)?,
        rows.optional(|row| row.exact_bytes)?,
        rows.optional(|row| row.live_count)?,
        rows.optional(|row| row.live_bytes)?,
        rows.some::<UInt32Type>(|row| row.interval, |&interval| interval > 0)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
