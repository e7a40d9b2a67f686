//! Stage `additional table`: nodes that become unreachable if the members of each set of duplicates are merged.
//!
//! * Resident memory: a batch of a column for each thread, and a row group.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the column.
//! * Reference: the contract of [`heaplake_schemas::duplicate_additional`].

use crate::rows::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::duplicate_additional::{AdditionalRow, SET_ADDITIONAL};
use heaplake_schemas::options::TableName;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "additional table",
    // Not an option of its own: tables of new runs would differ from those of older versions.
    when: |setting| setting.has(TableName::DuplicateMembers) && setting.looks_into_references(),
    reads: &[column(SET_ADDITIONAL)],
    fixed: BYTES,
    passes: "additional instances once",
    run,
    ..Stage::NEW
};

/// Maximum bytes of the writer of three narrow columns.
const BYTES: u64 = 20 << 20;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let _writer = job.context.budget.reserve("additional instances: Parquet writer", BYTES)?;
    write::<AdditionalRow>(job, STAGE.name, Vec::new())
}
