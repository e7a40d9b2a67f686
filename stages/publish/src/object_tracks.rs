//! Stage `object_tracks`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_tracks`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::text::Texts;
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::object_tracks::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::TRACKS;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "object_tracks",
    version: 2,
    when: |setting| setting.traces(TraceTable::ObjectTracks),
    reads: &[column(TRACKS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, TRACKS);
    let sources = vec![
        rows.u32s(|row| row.object)?,
        rows.u32s(|row| row.type_id)?,
        rows.sizes(|row| row.bytes)?,
        rows.u32s(|row| row.allocated_at_gc)?,
        rows.optional_ids(|row| row.stack)?,
        rows.u64s(|row| row.first_address)?,
        rows.optional_addresses(|row| row.last_address)?,
        rows.sizes(|row| row.moves.into())?,
        rows.optional_ids(|row| row.died_at_gc)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.texts(Texts::Names(&generations), |row| row.living)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
