//! Stage `allocation_callees`: the call tree as a table, with a stable signature of each path.
//!
//! * Computes: the signature of each path, from its 2 outermost and 6 innermost functions. The fingerprint of a path
//!   hashes its caller's and its function's, so it depends on all functions.
//! * Resident memory: 4 bytes per function, 12 per level of the call tree, one batch of rows.
//! * Passes over disk: one over the rows for signatures, those of functions at random; one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full, or the call tree is too deep for the budget.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_callees`].

use crate::rows::{STAGE_OF_ROWS, write};
use crate::signature_columns::in_order;
use arrow::datatypes::UInt64Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Job, Stage, StageError, Stats, StringTable, StringWriter};
use heaplake_lake::source::Source;
use heaplake_lake::text::Texts;
use heaplake_names::fingerprint;
use heaplake_paths::chains::cut;
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::column::{FINGERPRINT, SIGNATURE};
use heaplake_schemas::options::{TableName, TraceTable};
use heaplake_schemas::replay::{CALLEE_FINGERPRINT, CALLEE_SIGNATURES, CALLEES, FUNCTION_SIGNATURES, FUNCTIONS};
use xxhash_rust::xxh3::xxh3_64;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "allocation_callees",
    version: 3,
    when: |setting| setting.traces(TraceTable::AllocationCallees) || setting.has(TableName::AllocationCallees),
    reads: &[column(CALLEES), column(FUNCTIONS), texts(FUNCTION_SIGNATURES)],
    writes: &[texts(CALLEE_SIGNATURES), column(CALLEE_FINGERPRINT)],
    passes: "its rows once for signatures, then once per column",
    run,
    ..STAGE_OF_ROWS
};

/// Functions of a signature at the outer end of a path.
const OUTERMOST: usize = 2;
/// Functions of a signature at the inner end.
const INNERMOST: usize = 6;
/// Separator of functions.
const SEPARATOR: &str = " > ";
/// A function without a row.
const UNKNOWN: &str = "?";

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    sign(job)?;
    let signatures = StringTable::open(job.scratch, CALLEE_SIGNATURES)?;
    let signature = Source::texts(Texts::Table(&signatures), in_order()?);
    let fingerprint = Source::column::<_, UInt64Type>(job.scratch, CALLEE_FINGERPRINT)?;
    write::<CalleeRow>(job, STAGE.name, vec![(SIGNATURE.name, signature), (FINGERPRINT.name, fingerprint)])
}

/// Writes signature and fingerprint of each path.
fn sign(job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut reader = ColumnReader::open(scratch, CALLEES)?;
    let mut paths = Paths {
        functions: rows_of_functions(job)?,
        signatures: StringTable::open(scratch, FUNCTION_SIGNATURES)?,
        path: context.budget.growing("call paths: functions"),
        fingerprints: context.budget.growing("call paths: fingerprints"),
    };
    let mut signatures = StringWriter::create(scratch, CALLEE_SIGNATURES)?;
    let mut fingerprints = ColumnWriter::create(scratch, CALLEE_FINGERPRINT)?;
    while reader.remaining() > 0 {
        context.check()?;
        fingerprints.push(paths.enter(&reader.next()?)?)?;
        signatures.push(paths.signature().as_bytes())?;
    }
    signatures.finish()?;
    fingerprints.finish().map(drop)
}

/// Maps each function number to its row.
fn rows_of_functions(job: &Job<'_>) -> Result<BudgetVec<u32>, StageError> {
    let mut reader = ColumnReader::open(job.scratch, FUNCTIONS)?;
    let mut rows = job.context.budget.growing("call paths: rows of functions");
    for at in 0..reader.remaining() as u32 {
        let function = reader.next()?.function_id as usize;
        while rows.len() <= function {
            rows.push(u32::MAX)?;
        }
        rows[function] = at;
    }
    Ok(rows)
}

/// The path to the current node of the call tree.
struct Paths {
    functions: BudgetVec<u32>,
    signatures: StringTable,
    /// Rows of its functions, from the outermost one on.
    path: BudgetVec<u32>,
    /// Fingerprints of the path prefixes that end at these functions.
    fingerprints: BudgetVec<u64>,
}

impl Paths {
    /// Enters the next node in preorder; returns the fingerprint of its path.
    fn enter(&mut self, row: &CalleeRow) -> Result<u64, StageError> {
        while self.path.len() > row.depth as usize {
            self.path.pop();
            self.fingerprints.pop();
        }
        let function = self.functions.get(row.function_id as usize).copied().unwrap_or(u32::MAX);
        let own = match function {
            u32::MAX => fingerprint(UNKNOWN),
            function => fingerprint(&self.signatures.text(function as usize)),
        };
        let whole = self.fingerprints.last().map_or(own, |&caller| joined(caller, own));
        self.path.push(function)?;
        self.fingerprints.push(whole)?;
        Ok(whole)
    }

    fn signature(&self) -> String {
        let cut_out = match self.path.len() {
            length if length > OUTERMOST + INNERMOST => OUTERMOST..length - INNERMOST,
            length => length..length,
        };
        let mut text = String::new();
        self.append(&self.path[..cut_out.start], &mut text);
        if !cut_out.is_empty() {
            text.push_str(SEPARATOR);
            text.push('…');
        }
        self.append(&self.path[cut_out.end..], &mut text);
        text
    }

    fn append(&self, functions: &[u32], text: &mut String) {
        for &function in functions {
            if !text.is_empty() {
                text.push_str(SEPARATOR);
            }
            match function {
                u32::MAX => text.push_str(UNKNOWN),
                function => text.push_str(&cut(self.signatures.text(function as usize))),
            }
        }
    }
}

/// Combines the fingerprints of the caller's path and of the function.
fn joined(caller: u64, function: u64) -> u64 {
    xxh3_64(bytemuck::bytes_of(&[caller.to_le(), function.to_le()]))
}
