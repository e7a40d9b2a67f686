//! Functions shared by all writers of tables.

use arrow::datatypes::SchemaRef;
use heaplake_kit::{Job, StageError, Stats};
use heaplake_lake::source::Source;
use heaplake_lake::table::Table;

/// File and schema of a table.
pub(crate) type Target = (&'static str, SchemaRef);

/// Creates a table in the folder of the run.
pub(crate) fn create(job: &Job<'_>, (file, schema): Target) -> Result<Table, StageError> {
    Table::create(job.output, file, schema)
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
    target: Target,
    sources: Vec<Source<'_>>,
    rows: u64,
) -> Result<Stats, StageError> {
    job.context.progress.begin(stage, rows);
    let mut table = create(job, target)?;
    table.fill(sources, rows, job.context)?;
    finish(job, table)
}
