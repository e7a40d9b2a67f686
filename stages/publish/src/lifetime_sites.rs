//! Stage `lifetime_sites`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.site`, names of types and functions.
//! * Writes: `lifetime_sites.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::lifetime_sites`].

use crate::rows::{self, Job, Rows};
use crate::text::Texts;
use heaplake_kit::{StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::lifetime_sites::{FILE, schema};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::replay::{SITES, STRINGS, TYPE_NAMES};
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("lifetime_sites", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let (names, strings) = (StringTable::open(job.scratch, TYPE_NAMES)?, StringTable::open(job.scratch, STRINGS)?);
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, SITES);
    let sources = vec![
        rows.u32s(|row| row.function_id)?,
        rows.texts(Texts::Table(&strings), |row| row.function)?,
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.u64s(|row| row.count)?,
        rows.u64s(|row| row.bytes)?,
        rows.u64s(|row| row.samples)?,
    ];
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
