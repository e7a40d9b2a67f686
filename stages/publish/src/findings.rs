//! Stage `findings table`: the findings as a table.
//!
//! * Computes: nothing.
//! * Reads: the document of findings.
//! * Writes: `findings.parquet`.
//! * Resident memory: the findings, of which there are a few hundred at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the findings.
//! * Reference: the contract of [`heaplake_schemas::findings`].

use crate::source::array;
use crate::table::Table;
use arrow::array::{ArrayRef, StringArray, UInt32Array};
use arrow::datatypes::{UInt32Type, UInt64Type};
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::findings::{FILE, Finding, schema};
use heaplake_schemas::run;
use heaplake_schemas::scratch::documents;
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "findings table",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 4 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "findings once",
};

/// Writes the table of a run whose input has this hash.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Scratch`].
pub fn run(
    hash: &str,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    let findings: Vec<Finding> = scratch.read_document(documents::FINDINGS)?;
    context.progress.begin(STAGE.name, findings.len() as u64);
    let mut table = Table::create(folder, FILE, schema(), hash)?;
    table.write(&columns(&findings))?;
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}

fn columns(findings: &[Finding]) -> [ArrayRef; 14] {
    let texts =
        |of: fn(&Finding) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(findings.iter().map(of))) };
    let optional =
        |of: fn(&Finding) -> Option<u32>| -> ArrayRef { Arc::new(UInt32Array::from_iter(findings.iter().map(of))) };
    let numbers = |of: fn(&Finding) -> u64| array::<UInt64Type>(findings.iter().map(of).collect());
    [
        array::<UInt32Type>((0..findings.len() as u32).collect()),
        texts(|finding| &finding.rule),
        texts(|finding| finding.severity.name()),
        texts(|finding| finding.scope.name()),
        texts(|finding| &finding.subject),
        optional(|finding| finding.class_id),
        optional(|finding| finding.set),
        optional(|finding| finding.node),
        optional(|finding| finding.type_id),
        optional(|finding| finding.function_id),
        numbers(|finding| finding.count),
        numbers(|finding| finding.bytes),
        texts(|finding| &finding.message),
        texts(|finding| &finding.next_step),
    ]
}
