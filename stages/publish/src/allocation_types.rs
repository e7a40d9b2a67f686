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

use crate::rows::{self, Rows};
use crate::text::Texts;
use arrow::datatypes::UInt32Type;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::allocation_types::{FILE, schema};
use heaplake_schemas::replay::{Facts, TYPE_NAMES, TYPES};
use heaplake_schemas::run;
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "allocation_types",
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
    let names = StringTable::open(scratch, TYPE_NAMES)?;
    let rows = Rows::of(scratch, TYPES);
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
    rows::write((FILE, schema()), sources, rows.count()?, &facts.input_hash, folder, &STAGE, context)
}
