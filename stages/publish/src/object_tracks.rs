//! Stage `object_tracks`: the table of that name.
//!
//! * Computes: nothing.
//! * Reads: `replay.track`.
//! * Writes: `object_tracks.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_tracks`].

use crate::rows::{self, Rows};
use crate::text::Texts;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::object_tracks::{FILE, schema};
use heaplake_schemas::replay::{Facts, TRACKS};
use heaplake_schemas::run;
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "object_tracks",
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
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(scratch, TRACKS);
    let sources = vec![
        rows.u32s(|row| row.object)?,
        rows.u32s(|row| row.type_id)?,
        rows.u64s(|row| row.bytes)?,
        rows.u32s(|row| row.allocated_at_gc)?,
        rows.optional_ids(|row| row.stack)?,
        rows.u64s(|row| row.first_address)?,
        rows.optional(|row| row.last_address)?,
        rows.u32s(|row| row.moves)?,
        rows.optional_ids(|row| row.died_at_gc)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
    ];
    rows::write((FILE, schema()), sources, rows.count()?, &facts.input_hash, folder, &STAGE, context)
}
