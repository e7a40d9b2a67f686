//! Stage `object_lifetimes`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_lifetimes`].

use crate::rows::{STAGE_OF_ROWS, write};
use crate::signature_columns::{in_order, names, signed, write_signatures};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::object_lifetimes::{GENERATIONS, LifetimeRow};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{LIFETIME_SIGNATURES, LIFETIMES, METADATA, Metadata, TYPE_NAMES};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "object_lifetimes",
    version: 2,
    when: |setting| setting.traces(TraceTable::ObjectLifetimes),
    reads: &[document(METADATA), column(LIFETIMES), texts(TYPE_NAMES)],
    writes: &[texts(LIFETIME_SIGNATURES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let types = StringTable::open(job.scratch, TYPE_NAMES)?;
    let rules = names(job, &job.scratch.read_document::<Metadata>(METADATA)?.format);
    let mut lifetimes = ColumnReader::open(job.scratch, LIFETIMES)?;
    write_signatures(job, LIFETIME_SIGNATURES, lifetimes.remaining(), |_| {
        let row = lifetimes.next()?;
        Ok(rules.lifetime(&types.text(row.type_id as usize), GENERATIONS[row.generation as usize]))
    })?;
    let signatures = StringTable::open(job.scratch, LIFETIME_SIGNATURES)?;
    write::<LifetimeRow>(job, STAGE.name, signed(&signatures, in_order)?)
}
