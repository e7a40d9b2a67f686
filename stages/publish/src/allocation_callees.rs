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

use crate::rows::{self, Rows};
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::allocation_callees::{FILE, schema};
use heaplake_schemas::replay::{CALLEES, Facts};
use heaplake_schemas::run;
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "allocation_callees",
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
    let rows = Rows::of(scratch, CALLEES);
    let sources = vec![
        rows.u32s(|row| row.node)?,
        rows.optional_ids(|row| row.parent)?,
        rows.u32s(|row| row.depth)?,
        rows.u32s(|row| row.function_id)?,
        rows.u64s(|row| row.inclusive_samples)?,
        rows.u64s(|row| row.inclusive_bytes)?,
        rows.u64s(|row| row.exclusive_samples)?,
        rows.u64s(|row| row.exclusive_bytes)?,
    ];
    rows::write((FILE, schema()), sources, rows.count()?, &facts.input_hash, folder, &STAGE, context)
}
