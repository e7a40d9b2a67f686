//! Stage `object_lifetimes`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_lifetimes`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::object_lifetimes::{FILE, GENERATIONS, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{LIFETIMES, TYPE_NAMES};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "object_lifetimes",
    when: |setting| setting.traces(TraceTable::ObjectLifetimes),
    reads: &[column(LIFETIMES), texts(TYPE_NAMES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, LIFETIMES);
    let sources = vec![
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.bytes)?,
        rows.fractions(|row| row.mean_age_gcs)?,
        rows.sizes(|row| row.max_age_gcs.into())?,
        rows.fractions(|row| row.mean_age_seconds)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
