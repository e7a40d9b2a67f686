//! Stage `owners table`: the rows of owners as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::owners`].

use crate::rows::{Rows, write};
use crate::signature_columns::{in_order, names, signed, write_signatures};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::Texts;
use heaplake_schemas::options::TableName;
use heaplake_schemas::owners::OwnerRow;
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
    let count = Rows::of(job.scratch, OWNER_ROW).count()?;
    let names = names(job, &job.metadata()?.format);
    write_signatures(job, OWNER_SIGNATURES, count, |row| Ok(names.owner(&owners.text(row))))?;
    let signatures = StringTable::open(job.scratch, OWNER_SIGNATURES)?;
    let mut computed = signed(&signatures, in_order)?;
    computed.push(("owner", Source::texts(Texts::Table(&owners), in_order()?)));
    write::<OwnerRow>(job, STAGE.name, computed)
}
