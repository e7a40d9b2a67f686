//! Stage `allocation_types`: writes the rows of a replay, or of the classes of a snapshot, to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_types`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::signature_columns::signed;
use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnMap, Job, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::allocation_types::{FILE, TypeRow, schema};
use heaplake_schemas::options::{TableName, TraceTable};
use heaplake_schemas::replay::{TYPE_NAMES, TYPE_SIGNATURES, TYPES};
use heaplake_schemas::scratch::{CLASS_NAME, CLASS_SIGNATURES, STRINGS, StringColumns};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "allocation_types",
    version: 3,
    when: |setting| traces(setting) || analyses(setting),
    reads: &[
        column(TYPES),
        texts(TYPE_NAMES).when(traces),
        texts(TYPE_SIGNATURES).when(traces),
        column(CLASS_NAME).when(analyses),
        texts(STRINGS).when(analyses),
        texts(CLASS_SIGNATURES).when(analyses),
    ],
    run,
    ..STAGE_OF_ROWS
};

fn traces(setting: &Setting<'_>) -> bool {
    setting.traces(TraceTable::AllocationTypes)
}

fn analyses(setting: &Setting<'_>) -> bool {
    setting.has(TableName::AllocationTypes)
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let scratch = job.scratch;
    if traces(&job.setting) {
        return publish(job, TYPE_NAMES, TYPE_SIGNATURES, |rows, names| rows.texts(names, |row| row.type_id));
    }
    let classes = ColumnMap::uncounted(scratch, CLASS_NAME)?;
    publish(job, STRINGS, CLASS_SIGNATURES, |rows, names| {
        let mut positions = rows.values(|row| row.type_id)?;
        let name = move |class: u32| classes.get(class as usize).and_then(|name| name.get()).unwrap_or(NONE);
        Ok(Source::texts(names, move |count| Ok(positions(count)?.into_iter().map(&name).collect())))
    })
}

/// Writes the table with these names and signatures; `named` makes a column of the names.
fn publish(
    job: &Job<'_>,
    names: StringColumns,
    signatures: StringColumns,
    named: impl for<'a> FnOnce(Rows<'a, TypeRow>, Texts<'a>) -> Result<Source<'a>, StageError>,
) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, names)?;
    let signatures = StringTable::open(job.scratch, signatures)?;
    let rows = Rows::of(job.scratch, TYPES);
    let mut sources = vec![
        rows.u32s(|row| row.type_id)?,
        named(rows, Texts::Table(&names))?,
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
    sources.extend(signed(&signatures, || rows.values(|row| row.type_id))?);
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
