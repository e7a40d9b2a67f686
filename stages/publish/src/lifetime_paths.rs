//! Stage `lifetime_paths`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::lifetime_paths`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::lifetime_paths::{FILE, schema};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{PATHS, STRINGS};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "lifetime_paths",
    when: |setting| setting.traces(TraceTable::LifetimePaths),
    reads: &[column(PATHS), texts(STRINGS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, PATHS);
    let sources = vec![
        rows.u32s(|row| row.node)?,
        rows.optional_ids(|row| row.parent)?,
        rows.u32s(|row| row.depth)?,
        rows.u32s(|row| row.function_id)?,
        rows.texts(Texts::Table(&strings), |row| row.function)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.sizes(|row| row.inclusive_count)?,
        rows.sizes(|row| row.inclusive_bytes)?,
        rows.sizes(|row| row.exclusive_count)?,
        rows.sizes(|row| row.exclusive_bytes)?,
        rows.sizes(|row| row.inclusive_samples)?,
        rows.sizes(|row| row.exclusive_samples)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
