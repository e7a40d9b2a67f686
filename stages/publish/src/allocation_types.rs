//! Stage `allocation_types`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_types`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::signed::signed;
use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::allocation_types::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{TYPE_NAMES, TYPE_SIGNATURES, TYPES};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "allocation_types",
    version: 3,
    when: |setting| setting.traces(TraceTable::AllocationTypes),
    reads: &[column(TYPES), texts(TYPE_NAMES), texts(TYPE_SIGNATURES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let signatures = StringTable::open(job.scratch, TYPE_SIGNATURES)?;
    let rows = Rows::of(job.scratch, TYPES);
    let mut sources = vec![
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.optional_sizes(|row| row.allocated_count)?,
        rows.optional_sizes(|row| row.bytes)?,
        rows.sizes(|row| row.sampled_count)?,
        rows.sizes(|row| row.sampled_bytes)?,
        rows.optional_sizes(|row| row.estimated_bytes)?,
        rows.optional_sizes(|row| row.low_bytes)?,
        rows.optional_sizes(|row| row.high_bytes)?,
        rows.optional_sizes(|row| row.exact_bytes)?,
        rows.optional_sizes(|row| row.live_count)?,
        rows.optional_sizes(|row| row.live_bytes)?,
        rows.some::<UInt32Type>(|row| row.interval, |&interval| interval > 0)?,
    ];
    sources.extend(signed(&signatures, || rows.positions(|row| row.type_id))?);
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
