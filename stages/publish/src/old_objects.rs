//! Stage `old_objects`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::old_objects`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::old_objects::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{OLD_OBJECTS, RECORDING_TEXTS, TYPE_NAMES};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "old_objects",
    when: |setting| setting.traces(TraceTable::OldObjects),
    reads: &[column(OLD_OBJECTS), texts(TYPE_NAMES), texts(RECORDING_TEXTS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let strings = StringTable::open(job.scratch, RECORDING_TEXTS)?;
    let rows = Rows::of(job.scratch, OLD_OBJECTS);
    let sources = vec![
        rows.u32s(|row| row.sample)?,
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.optional_addresses(|row| row.address)?,
        rows.times(|row| row.allocated_at_us)?,
        rows.fractions(|row| row.age_seconds)?,
        rows.optional_sizes(|row| row.bytes)?,
        rows.optional_sizes(|row| row.array_elements)?,
        rows.optional_sizes(|row| row.heap_used_bytes)?,
        rows.texts(Texts::Table(&strings), |row| row.thread)?,
        rows.texts(Texts::Table(&strings), |row| row.function)?,
        rows.texts(Texts::Table(&strings), |row| row.stack)?,
        rows.texts(Texts::Table(&strings), |row| row.description)?,
        rows.texts(Texts::Table(&strings), |row| row.root_system)?,
        rows.texts(Texts::Table(&strings), |row| row.root_type)?,
        rows.texts(Texts::Table(&strings), |row| row.root_description)?,
        rows.texts(Texts::Table(&strings), |row| row.path)?,
        rows.sizes(|row| row.chain_length.into())?,
        rows.flags(|row| row.chain_cut)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
