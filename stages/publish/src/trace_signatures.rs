//! Stage `trace signatures`: stable names of the types and functions of a trace.
//!
//! * Computes: the signature of each type, and of each function that has a row.
//! * Resident memory: one signature.
//! * Passes over disk: one over names of types, one over rows of functions.
//! * Worst case: linear in the texts.
//! * Fails when: the disk is full.
//! * Determinism: order of types, and of the rows of functions.
//! * Reference: [`heaplake_names`].

use crate::signature_columns::{names, write_signatures};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_names::Normaliser;
use heaplake_schemas::allocation_functions::{FROM_PDB, FunctionRow};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{
    FUNCTION_SIGNATURES, FUNCTIONS, METADATA, Metadata, STRINGS, TYPE_NAMES, TYPE_SIGNATURES,
};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "trace signatures",
    when: |setting| {
        let tables = [
            TraceTable::AllocationTypes,
            TraceTable::AllocationFunctions,
            TraceTable::AllocationCallees,
            TraceTable::Findings,
        ];
        tables.into_iter().any(|table| setting.traces(table))
    },
    reads: &[document(METADATA), texts(TYPE_NAMES), column(FUNCTIONS), texts(STRINGS)],
    writes: &[texts(TYPE_SIGNATURES), texts(FUNCTION_SIGNATURES)],
    fixed: 8 << 20,
    passes: "types and functions once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let names = names(job, &scratch.read_document::<Metadata>(METADATA)?.format);
    let types = StringTable::open(scratch, TYPE_NAMES)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut functions = ColumnReader::open(scratch, FUNCTIONS)?;
    let counts = (types.len() as u64, functions.remaining());
    context.progress.begin(STAGE.name, counts.0 + counts.1);
    write_signatures(job, TYPE_SIGNATURES, counts.0, |type_id| {
        context.progress.advance(1);
        Ok(names.allocated_type(&types.text(type_id)))
    })?;
    write_signatures(job, FUNCTION_SIGNATURES, counts.1, |_| {
        context.progress.advance(1);
        Ok(function(&functions.next()?, &names, &strings))
    })?;
    context.progress.end();
    Ok(Stats { rows: counts.0 + counts.1, spilled_bytes: 0 })
}

/// The signature of a function.
pub(crate) fn function(row: &FunctionRow, names: &Normaliser, strings: &StringTable) -> String {
    let text = |position: u32| (position != u32::MAX).then(|| strings.text(position as usize));
    let (method, module) = (text(row.method_signature), text(row.module));
    // A signature does not depend on available PDBs.
    let file = (row.line_from != FROM_PDB).then(|| text(row.file)).flatten();
    names.function(&strings.text(row.name as usize), method.as_deref(), module.as_deref(), file.as_deref())
}
