//! Stage `findings table`: the findings as a table.
//!
//! * Resident memory: the findings, a few hundred at most.
//! * Passes over disk: one over findings; of a trace, one over the rows of functions.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the findings.
//! * Reference: the contract of [`heaplake_schemas::findings`].

use crate::signature_columns::{names, signed_rows};
use crate::writer;
use arrow::array::{ArrayRef, ListBuilder, StringArray, StringBuilder, UInt32Array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::chains::cut;
use heaplake_kit::{ColumnReader, Job, Scratch, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{array, sizes};
use heaplake_schemas::findings::{FILE, Finding, schema, step};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{self, FUNCTION_SIGNATURES, FUNCTIONS, TYPE_SIGNATURES};
use heaplake_schemas::scratch::{CLASS_SIGNATURES, documents};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "findings table",
    version: 5,
    when: |setting| setting.findings() || setting.traces(TraceTable::Findings),
    reads: &[
        document(documents::FINDINGS),
        document(documents::METADATA).when(is_of_snapshot),
        texts(CLASS_SIGNATURES).when(is_of_snapshot),
        document(replay::METADATA).when(is_of_trace),
        texts(TYPE_SIGNATURES).when(is_of_trace),
        texts(FUNCTION_SIGNATURES).when(is_of_trace),
        column(FUNCTIONS).when(is_of_trace),
    ],
    fixed: 4 << 20,
    passes: "findings once",
    run,
    ..Stage::NEW
};

/// Whether the findings are about a snapshot.
fn is_of_snapshot(setting: &Setting<'_>) -> bool {
    setting.findings()
}

fn is_of_trace(setting: &Setting<'_>) -> bool {
    setting.traces(TraceTable::Findings)
}

/// Findings per batch.
const BATCH: usize = 1 << 9;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let findings: Vec<Finding> = job.scratch.read_document(documents::FINDINGS)?;
    job.context.progress.begin(STAGE.name, findings.len() as u64);
    let mut table = writer::create(job, (FILE, schema()))?;
    let mut first = 0;
    for batch in findings.chunks(BATCH) {
        let signed = signed_rows(&signatures(job, batch)?);
        table.write(&columns(first, batch).into_iter().chain(signed).collect::<Vec<_>>())?;
        first += batch.len() as u32;
        job.context.step(batch.len() as u64)?;
    }
    writer::finish(job, table)
}

/// Computes the stable signature of each finding.
fn signatures(job: &Job<'_>, findings: &[Finding]) -> Result<Vec<String>, StageError> {
    let (format, subjects) = match job.setting.findings() {
        true => (job.metadata()?.format.clone(), subjects_of_snapshot(job.scratch, findings)?),
        false => {
            let metadata: replay::Metadata = job.scratch.read_document(replay::METADATA)?;
            (metadata.format, subjects_of_trace(job.scratch, findings)?)
        }
    };
    let names = names(job, &format);
    let signature = |(finding, subject): (&Finding, Option<String>)| {
        let subject = subject.as_deref().unwrap_or(&finding.subject);
        let path = finding.stable_path.iter().map(String::as_str);
        names.finding(&finding.rule, subject, path, finding.place.as_deref())
    };
    Ok(findings.iter().zip(subjects).map(signature).collect())
}

/// The signatures of the classes of findings.
fn subjects_of_snapshot(scratch: &Scratch, findings: &[Finding]) -> Result<Vec<Option<String>>, StageError> {
    let classes = StringTable::open(scratch, CLASS_SIGNATURES)?;
    let class = |finding: &Finding| Some(cut(classes.text(finding.class_id? as usize)).into_owned());
    Ok(findings.iter().map(class).collect())
}

/// The signatures of the functions or types of findings.
fn subjects_of_trace(scratch: &Scratch, findings: &[Finding]) -> Result<Vec<Option<String>>, StageError> {
    let (types, functions) =
        (StringTable::open(scratch, TYPE_SIGNATURES)?, StringTable::open(scratch, FUNCTION_SIGNATURES)?);
    let of_type = |finding: &Finding| Some(cut(types.text(finding.type_id? as usize)).into_owned());
    let mut subjects: Vec<Option<String>> = findings.iter().map(of_type).collect();
    let mut rows = ColumnReader::open(scratch, FUNCTIONS)?;
    for at in 0..rows.remaining() as usize {
        let function = Some(rows.next()?.function_id);
        for (subject, _) in subjects.iter_mut().zip(findings).filter(|(_, finding)| finding.function_id == function) {
            *subject = Some(cut(functions.text(at)).into_owned());
        }
    }
    Ok(subjects)
}

fn columns(first: u32, findings: &[Finding]) -> [ArrayRef; 20] {
    let texts =
        |of: fn(&Finding) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(findings.iter().map(of))) };
    let optional =
        |of: fn(&Finding) -> Option<u32>| -> ArrayRef { Arc::new(UInt32Array::from_iter(findings.iter().map(of))) };
    let known =
        |of: fn(&Finding) -> Option<&String>| -> ArrayRef { Arc::new(StringArray::from_iter(findings.iter().map(of))) };
    let numbers = |of: fn(&Finding) -> u64| sizes(findings.iter().map(of).collect());
    [
        array::<UInt32Type>((first..first + findings.len() as u32).collect()),
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
