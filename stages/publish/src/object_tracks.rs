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

use crate::rows::{self, Job, Rows};
use crate::text::Texts;
use heaplake_kit::{StageError, StageInfo, Stats};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::object_tracks::{FILE, schema};
use heaplake_schemas::replay::TRACKS;
use heaplake_schemas::run::Table;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = rows::stage("object_tracks", "its rows once per column");

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(job: &Job<'_>) -> Result<(Table, Stats), StageError> {
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, TRACKS);
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
    job.write((FILE, schema()), sources, rows.count()?, &STAGE)
}
