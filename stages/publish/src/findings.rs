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
use heaplake_kit::{ColumnReader, Job, Scratch, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{array, sizes};
use heaplake_paths::chains::cut;
use heaplake_schemas::column::{ColumnSchema, Type, element};
use heaplake_schemas::findings::{Finding, TABLE};
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
    let mut table = writer::create(job, &TABLE)?;
    let mut first = 0;
    for batch in findings.chunks(BATCH) {
        table.write(&columns(first, batch, &signatures(job, batch)?))?;
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

/// The columns of some findings, numbered from `first` on.
fn columns(first: u32, findings: &[Finding], signatures: &[String]) -> Vec<ArrayRef> {
    let [signature, fingerprint] = signed_rows(signatures);
    let text = |of: fn(&Finding) -> &str| Arc::new(StringArray::from_iter_values(findings.iter().map(of)));
    let known = |of: fn(&Finding) -> Option<&str>| Arc::new(StringArray::from_iter(findings.iter().map(of)));
    let id = |of: fn(&Finding) -> Option<u32>| Arc::new(UInt32Array::from_iter(findings.iter().map(of)));
    let column = |column: &ColumnSchema| -> ArrayRef {
        match column.name {
            "finding" => array::<UInt32Type>((first..first + findings.len() as u32).collect()),
            "rule" => text(|finding| &finding.rule),
            "severity" => text(|finding| finding.severity.name()),
            "scope" => text(|finding| finding.scope.name()),
            "subject" => text(|finding| &finding.subject),
            "class_id" => id(|finding| finding.class_id),
            "set" => id(|finding| finding.set),
            "node" => id(|finding| finding.node),
            "type_id" => id(|finding| finding.type_id),
            "function_id" => id(|finding| finding.function_id),
            "count" => sizes(findings.iter().map(|finding| finding.count).collect()),
            "bytes" => sizes(findings.iter().map(|finding| finding.bytes).collect()),
            "message" => text(|finding| &finding.message),
            "next_step" => text(|finding| &finding.next_step),
            "path" => lists(findings, |finding| &finding.path),
            "holder_node" => id(|finding| finding.holder_node),
            "owner" => known(|finding| finding.owner.as_deref()),
            "place" => known(|finding| finding.place.as_deref()),
            "class_key" => known(|finding| finding.class_key.as_deref()),
            "stable_path" => lists(findings, |finding| &finding.stable_path),
            "signature" => signature.clone(),
            "fingerprint" => fingerprint.clone(),
            // The schema is a constant: every test that writes findings would end here.
            name => unreachable!("no values for column {name}"),
        }
    };
    TABLE.columns.iter().map(column).collect()
}

fn lists(findings: &[Finding], of: fn(&Finding) -> &[String]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(element(&Type::Utf8, false));
    for finding in findings {
        of(finding).iter().for_each(|text| lists.values().append_value(text));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
