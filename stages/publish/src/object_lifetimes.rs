//! Stage `object_lifetimes`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.lifetime`, names of types.
//! * Writes: `object_lifetimes.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_lifetimes`].

use crate::rows::{self, Job, Rows};
use crate::text::Texts;
use heaplake_kit::{StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::object_lifetimes::{FILE, GENERATIONS, schema};
use heaplake_schemas::replay::{LIFETIMES, TYPE_NAMES};
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("object_lifetimes", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, LIFETIMES);
    let sources = vec![
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.u64s(|row| row.count)?,
        rows.u64s(|row| row.bytes)?,
        rows.fractions(|row| row.mean_age_gcs)?,
        rows.u32s(|row| row.max_age_gcs)?,
        rows.fractions(|row| row.mean_age_seconds)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
