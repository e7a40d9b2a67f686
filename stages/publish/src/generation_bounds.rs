//! Stage `generation_bounds`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::generation_bounds`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use arrow::datatypes::UInt8Type;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::text::Texts;
use heaplake_schemas::generation_bounds::{FILE, MOMENTS, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::BOUNDS;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "generation_bounds",
    when: |setting| setting.traces(TraceTable::GenerationBounds),
    reads: &[column(BOUNDS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let moments = MOMENTS.map(str::to_owned);
    let rows = Rows::of(job.scratch, BOUNDS);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.texts(Texts::Names(&moments), |row| row.moment)?,
        rows.numbers::<UInt8Type>(|row| row.generation as u8)?,
        rows.u64s(|row| row.start)?,
        rows.sizes(|row| row.used)?,
        rows.sizes(|row| row.reserved)?,
        rows.optional_sizes(|row| row.moved)?,
        rows.optional_sizes(|row| row.surviving)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
