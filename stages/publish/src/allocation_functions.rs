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

use crate::rows::{self, Rows};
use crate::text::Texts;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::allocation_functions::{FILE, schema};
use heaplake_schemas::replay::{FUNCTIONS, Facts, STRINGS};
use heaplake_schemas::run;
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "allocation_functions",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "its rows once per column",
};

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let texts = Texts::Table(&strings);
    let rows = Rows::of(scratch, FUNCTIONS);
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
    rows::write((FILE, schema()), sources, rows.count()?, &facts.input_hash, folder, &STAGE, context)
}
