//! Stage `owners table`: the rows of owners as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::owners`].

use crate::rows::Rows;
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::Texts;
use heaplake_schemas::options::TableName;
use heaplake_schemas::owners::{FILE, schema};
use heaplake_schemas::scratch::{OWNER_NAMES, OWNER_ROW};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "owners table",
    when: |setting| setting.has(TableName::Owners),
    reads: &[column(OWNER_ROW), texts(OWNER_NAMES)],
    fixed: 8 << 20,
    passes: "owner rows once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, OWNER_NAMES)?;
    let rows = Rows::of(job.scratch, OWNER_ROW);
    let count = rows.count()?;
    let mut next = 0;
    let sources = vec![
        Source::texts(Texts::Table(&names), move |count| {
            let first = next;
            next += count as u32;
            Ok((first..next).collect())
        }),
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.shallow_bytes)?,
        rows.sizes(|row| row.retained_bytes)?,
        rows.optional_sizes(|row| row.freed_bytes)?,
        rows.optional_sizes(|row| row.allocated_bytes)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, count)
}
