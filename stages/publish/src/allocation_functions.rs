//! Stage `allocation_functions`: writes the rows of a replay, or of a snapshot's call tree, to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_functions`].

use crate::rows::{STAGE_OF_ROWS, write};
use crate::signature_columns::{in_order, signed};
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::allocation_functions::FunctionRow;
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
    let signatures = StringTable::open(job.scratch, FUNCTION_SIGNATURES)?;
    write::<FunctionRow>(job, STAGE.name, signed(&signatures, in_order)?)
}
