//! Stage `lifetime_sites`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::lifetime_sites`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::lifetime_sites::{FILE, schema};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{SITES, STRINGS, TYPE_NAMES};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "lifetime_sites",
    when: |setting| setting.traces(TraceTable::LifetimeSites),
    reads: &[column(SITES), texts(TYPE_NAMES), texts(STRINGS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let (names, strings) = (StringTable::open(job.scratch, TYPE_NAMES)?, StringTable::open(job.scratch, STRINGS)?);
    let generations = GENERATIONS.map(str::to_owned);
    let rows = Rows::of(job.scratch, SITES);
    let sources = vec![
        rows.u32s(|row| row.function_id)?,
        rows.texts(Texts::Table(&strings), |row| row.function)?,
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.texts(Texts::Names(&generations), |row| row.generation)?,
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.bytes)?,
        rows.sizes(|row| row.samples)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
