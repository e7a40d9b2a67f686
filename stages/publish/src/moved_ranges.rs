//! Stage `moved_ranges`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.move`.
//! * Writes: `moved_ranges.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::moved_ranges`].

use crate::rows::{self, Rows};
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::moved_ranges::{FILE, schema};
use heaplake_schemas::replay::{Facts, MOVES};
use heaplake_schemas::run;
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "moved_ranges",
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
    let rows = Rows::of(scratch, MOVES);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.from)?,
        rows.u64s(|row| row.to)?,
        rows.u64s(|row| row.bytes)?,
    ];
    rows::write((FILE, schema()), sources, rows.count()?, &facts.input_hash, folder, &STAGE, context)
}
