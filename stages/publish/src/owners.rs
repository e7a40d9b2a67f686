//! Stage `owners table`: the rows of owners as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::owners`].

use crate::rows::Rows;
use crate::signature_columns::{in_order, names, signed, write_signatures};
use crate::writer::write;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::Texts;
use heaplake_schemas::options::TableName;
use heaplake_schemas::owners::{FILE, schema};
use heaplake_schemas::scratch::{OWNER_NAMES, OWNER_ROW, OWNER_SIGNATURES, documents};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "owners table",
    version: 2,
    when: |setting| setting.has(TableName::Owners),
    reads: &[document(documents::METADATA), column(OWNER_ROW), texts(OWNER_NAMES)],
    writes: &[texts(OWNER_SIGNATURES)],
    fixed: 8 << 20,
    passes: "owner rows once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let owners = StringTable::open(job.scratch, OWNER_NAMES)?;
    let rows = Rows::of(job.scratch, OWNER_ROW);
    let count = rows.count()?;
    let names = names(job, &job.metadata()?.format);
    write_signatures(job, OWNER_SIGNATURES, count, |row| Ok(names.owner(&owners.text(row))))?;
    let signatures = StringTable::open(job.scratch, OWNER_SIGNATURES)?;
    let mut sources = vec![
        Source::texts(Texts::Table(&owners), in_order()?),
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.shallow_bytes)?,
        rows.sizes(|row| row.retained_bytes)?,
        rows.optional_sizes(|row| row.freed_bytes)?,
        rows.optional_sizes(|row| row.allocated_bytes)?,
    ];
    sources.extend(signed(&signatures, in_order)?);
    write(job, STAGE.name, (FILE, schema()), sources, count)
}
