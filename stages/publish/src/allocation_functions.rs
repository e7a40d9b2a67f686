//! Stage `allocation_functions`: writes the rows of a replay, or of a snapshot's call tree, to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_functions`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::signature_columns::{in_order, signed};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::allocation_functions::{FILE, LINE_FROM, schema};
use heaplake_schemas::options::{TableName, TraceTable};
use heaplake_schemas::replay::{FUNCTION_SIGNATURES, FUNCTIONS, STRINGS};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "allocation_functions",
    version: 3,
    when: |setting| setting.traces(TraceTable::AllocationFunctions) || setting.has(TableName::AllocationFunctions),
    reads: &[column(FUNCTIONS), texts(STRINGS), texts(FUNCTION_SIGNATURES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let signatures = StringTable::open(job.scratch, FUNCTION_SIGNATURES)?;
    let texts = Texts::Table(&strings);
    let from = LINE_FROM.map(str::to_owned);
    let rows = Rows::of(job.scratch, FUNCTIONS);
    let mut sources = vec![
        rows.u32s(|row| row.function_id)?,
        rows.texts(texts, |row| row.name)?,
        rows.texts(texts, |row| row.method_signature)?,
        rows.texts(texts, |row| row.module)?,
        rows.texts(texts, |row| row.file)?,
        rows.optional_ids(|row| row.line)?,
        rows.optional_ids(|row| row.column)?,
        rows.optional_ids(|row| row.script)?,
        rows.texts(Texts::Names(&from), |row| row.line_from)?,
        rows.texts(texts, |row| row.original_file)?,
        rows.optional_ids(|row| row.original_line)?,
        rows.optional_ids(|row| row.original_column)?,
        rows.texts(texts, |row| row.original_name)?,
        rows.sizes(|row| row.inclusive_count)?,
        rows.sizes(|row| row.inclusive_bytes)?,
        rows.sizes(|row| row.exclusive_count)?,
        rows.sizes(|row| row.exclusive_bytes)?,
        rows.sizes(|row| row.inclusive_samples)?,
        rows.sizes(|row| row.exclusive_samples)?,
        rows.optional_sizes(|row| row.inclusive_live_count)?,
        rows.optional_sizes(|row| row.inclusive_live_bytes)?,
        rows.optional_sizes(|row| row.exclusive_live_count)?,
        rows.optional_sizes(|row| row.exclusive_live_bytes)?,
    ];
    sources.extend(signed(&signatures, in_order)?);
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
