//! Stage `findings table`: the findings as a table.
//!
//! * Resident memory: the findings, of which there are a few hundred at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the findings.
//! * Reference: the contract of [`heaplake_schemas::findings`].

use crate::writer;
use arrow::array::{ArrayRef, ListBuilder, StringArray, StringBuilder, UInt32Array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::document;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::source::{array, sizes};
use heaplake_schemas::findings::{FILE, Finding, schema, step};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::scratch::documents;
use std::sync::Arc;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "findings table",
    when: |setting| setting.findings() || setting.traces(TraceTable::Findings),
    reads: &[document(documents::FINDINGS)],
    fixed: 4 << 20,
    passes: "findings once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let findings: Vec<Finding> = job.scratch.read_document(documents::FINDINGS)?;
    job.context.progress.begin(STAGE.name, findings.len() as u64);
    let mut table = writer::create(job, (FILE, schema()))?;
    table.write(&columns(&findings))?;
    writer::finish(job, table)
}

fn columns(findings: &[Finding]) -> [ArrayRef; 20] {
    let texts =
        |of: fn(&Finding) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(findings.iter().map(of))) };
    let optional =
        |of: fn(&Finding) -> Option<u32>| -> ArrayRef { Arc::new(UInt32Array::from_iter(findings.iter().map(of))) };
    let known =
        |of: fn(&Finding) -> Option<&String>| -> ArrayRef { Arc::new(StringArray::from_iter(findings.iter().map(of))) };
    let numbers = |of: fn(&Finding) -> u64| sizes(findings.iter().map(of).collect());
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
        lists(findings, |finding| &finding.path),
        optional(|finding| finding.holder_node),
        known(|finding| finding.owner.as_ref()),
        known(|finding| finding.place.as_ref()),
        known(|finding| finding.class_key.as_ref()),
        lists(findings, |finding| &finding.stable_path),
    ]
}

fn lists(findings: &[Finding], of: fn(&Finding) -> &[String]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(step());
    for finding in findings {
        of(finding).iter().for_each(|text| lists.values().append_value(text));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
