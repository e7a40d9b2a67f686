//! Functions shared by all writers of tables.

use heaplake_kit::{Job, StageError, Stats};
use heaplake_lake::source::Source;
use heaplake_lake::table::Table;
use heaplake_schemas::table::TableSchema;

/// Creates a table in the folder of the run.
pub(crate) fn create(job: &Job<'_>, schema: &TableSchema) -> Result<Table, StageError> {
    Table::create(job.output, schema.file, schema.schema())
}

/// Finishes a table.
pub(crate) fn finish(job: &Job<'_>, table: Table) -> Result<Stats, StageError> {
    let rows = table.finish()?.rows;
    job.context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// Writes a whole table with this number of rows of these columns.
pub(crate) fn write(
    job: &Job<'_>,
    stage: &'static str,
    schema: &TableSchema,
    sources: Vec<Source<'_>>,
    rows: u64,
) -> Result<Stats, StageError> {
    job.context.progress.begin(stage, rows);
    let mut table = create(job, schema)?;
    table.fill(sources, rows, job.context)?;
    finish(job, table)
}
