//! Stage `allocation_functions`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.function`, their texts.
//! * Writes: `allocation_functions.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_functions`].

use crate::rows::{self, Job, Rows};
use crate::text::Texts;
use heaplake_kit::{StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::allocation_functions::{FILE, schema};
use heaplake_schemas::replay::{FUNCTIONS, STRINGS};
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("allocation_functions", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let texts = Texts::Table(&strings);
    let rows = Rows::of(job.scratch, FUNCTIONS);
    let sources = vec![
        rows.u32s(|row| row.function_id)?,
        rows.texts(texts, |row| row.name)?,
        rows.texts(texts, |row| row.signature)?,
        rows.texts(texts, |row| row.module)?,
        rows.texts(texts, |row| row.file)?,
        rows.optional_ids(|row| row.line)?,
        rows.u64s(|row| row.inclusive_count)?,
        rows.u64s(|row| row.inclusive_bytes)?,
        rows.u64s(|row| row.exclusive_count)?,
        rows.u64s(|row| row.exclusive_bytes)?,
        rows.u64s(|row| row.inclusive_samples)?,
        rows.u64s(|row| row.exclusive_samples)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
