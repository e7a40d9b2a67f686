//! Stage `old_object_chains`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::old_object_chains`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::old_object_chains::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{OLD_OBJECT_CHAINS, RECORDING_TEXTS, TYPE_NAMES};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "old_object_chains",
    when: |setting| setting.traces(TraceTable::OldObjectChains),
    reads: &[column(OLD_OBJECT_CHAINS), texts(TYPE_NAMES), texts(RECORDING_TEXTS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let strings = StringTable::open(job.scratch, RECORDING_TEXTS)?;
    let rows = Rows::of(job.scratch, OLD_OBJECT_CHAINS);
    let sources = vec![
        rows.u32s(|row| row.sample)?,
        rows.u32s(|row| row.step)?,
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.optional_addresses(|row| row.address)?,
        rows.texts(Texts::Table(&strings), |row| row.description)?,
        rows.texts(Texts::Table(&strings), |row| row.field)?,
        rows.flags(|row| row.is_static)?,
        rows.optional_sizes(|row| row.array_index)?,
        rows.optional_sizes(|row| row.array_size)?,
        rows.sizes(|row| row.skipped.into())?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
