//! Stage `findings table`: the findings as a table.
//!
//! * Resident memory: the findings, a few hundred at most.
//! * Passes over disk: one over findings; of a trace, one over the rows of functions.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the findings.
//! * Reference: the contract of [`heaplake_schemas::findings`].

use crate::signature_columns::names;
use crate::writer;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::findings::columns;
use heaplake_names::fingerprint;
use heaplake_paths::chains::cut;
use heaplake_schemas::findings::{Finding, TABLE};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{self, FUNCTION_SIGNATURES, FUNCTIONS, TYPE_SIGNATURES};
use heaplake_schemas::scratch::{CLASS_SIGNATURES, documents};

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
        let signatures = signatures(job, batch)?;
        let fingerprints: Vec<u64> = signatures.iter().map(|signature| fingerprint(signature)).collect();
        table.write(&columns(first, batch, &signatures, &fingerprints))?;
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
