//! Stage `scripts table`: the scripts as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::scripts`].

use crate::writer::write;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, read};
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{SCRIPT_ID, SCRIPT_URL, STRINGS};
use heaplake_schemas::scripts::{FILE, schema};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "scripts table",
    when: |setting| setting.has(TableName::Scripts),
    reads: &[column(SCRIPT_ID), column(SCRIPT_URL), texts(STRINGS)],
    fixed: 8 << 20,
    passes: "scripts once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let mut urls = ColumnReader::open(job.scratch, SCRIPT_URL)?;
    let count = urls.remaining();
    let sources = vec![
        Source::column::<_, UInt32Type>(job.scratch, SCRIPT_ID)?,
        Source::texts(Texts::Table(&strings), move |rows| {
            Ok(read(&mut urls, rows)?.into_iter().map(|url| url.get().unwrap_or(NONE)).collect())
        }),
    ];
    write(job, STAGE.name, (FILE, schema()), sources, count)
}
