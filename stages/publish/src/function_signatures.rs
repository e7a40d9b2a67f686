//! Stage `function signatures`: stable names of the functions on the call tree of a snapshot.
//!
//! * Computes: the signature of each row of functions.
//! * Resident memory: one signature.
//! * Passes over disk: one over the rows.
//! * Worst case: linear in the texts.
//! * Fails when: the disk is full.
//! * Determinism: order of rows.
//! * Reference: [`heaplake_names`].

use crate::signature_columns::{names, write_signatures};
use crate::trace_signatures::function;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::options::TableName;
use heaplake_schemas::replay::{FUNCTION_SIGNATURES, FUNCTIONS, STRINGS};
use heaplake_schemas::scratch::documents;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "function signatures",
    when: |setting| setting.has(TableName::AllocationFunctions) || setting.has(TableName::AllocationCallees),
    reads: &[document(documents::METADATA), column(FUNCTIONS), texts(STRINGS)],
    writes: &[texts(FUNCTION_SIGNATURES)],
    fixed: 8 << 20,
    passes: "functions once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = names(job, &job.metadata()?.format);
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let mut functions = ColumnReader::open(job.scratch, FUNCTIONS)?;
    let count = functions.remaining();
    job.context.progress.begin(STAGE.name, count);
    let rows = write_signatures(job, FUNCTION_SIGNATURES, count, |_| {
        job.context.progress.advance(1);
        Ok(function(&functions.next()?, &names, &strings))
    })?;
    job.context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}
