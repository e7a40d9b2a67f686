//! Stage `object_generations`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_generations`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::text::Texts;
use heaplake_schemas::object_generations::{FILE, schema};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::OBJECT_GENERATIONS;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "object_generations",
    when: |setting| setting.traces(TraceTable::ObjectGenerations),
    reads: &[column(OBJECT_GENERATIONS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, OBJECT_GENERATIONS);
    let sources = vec![
        rows.u32s(|row| row.object)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.u32s(|row| row.since_gc)?,
        rows.optional_ids(|row| row.until_gc)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
