//! Stage `replay summary`: a replayed trace in brief, as `heaplake show` prints it.
//!
//! * Computes: the types that were allocated most and the functions that allocate most, with their names. Times and
//!   memory, which only the engine knows, are left at 0.
//! * Resident memory: the rows that are shown, and the findings, of which there are a few hundred at most.
//! * Passes over disk: the first rows of types and functions.
//! * Worst case: constant.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contracts of [`heaplake_schemas::run::Replay`] and [`heaplake_schemas::run::Summary`].

use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::read;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{ABSENT, FACTS, FUNCTIONS, Facts, STRINGS, TYPE_NAMES, TYPES};
use heaplake_schemas::run::{NamedAmount, Replay, Summary};
use heaplake_schemas::scratch::documents;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "replay summary",
    version: 2,
    when: |setting| setting.replay(|_| true),
    reads: &[
        document(FACTS),
        document(documents::FINDINGS).when(|setting| setting.traces(TraceTable::Findings)),
        column(TYPES),
        texts(TYPE_NAMES),
        column(FUNCTIONS),
        texts(STRINGS),
    ],
    writes: &[document(documents::SUMMARY), document(documents::REPLAY)],
    fixed: 4 << 20,
    passes: "first rows of types and functions",
    run,
    ..Stage::NEW
};

/// Types and functions that it shows.
const SHOWN: u64 = 10;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, setting, .. } = *job;
    context.progress.begin(STAGE.name, 0);
    let facts: Facts = scratch.read_document(FACTS)?;
    let has_findings = setting.traces(TraceTable::Findings);
    let summary = Summary {
        format: facts.format.clone(),
        partial: facts.left_out.clone(),
        findings: if has_findings { scratch.read_document(documents::FINDINGS)? } else { Vec::new() },
        ..Summary::default()
    };
    scratch.write_document(documents::SUMMARY, &summary)?;
    let replay = Replay { types: most_allocated(scratch)?, functions: most_allocating(scratch)?, facts };
    scratch.write_document(documents::REPLAY, &replay)?;
    context.progress.end();
    Ok(Stats { rows: 1, spilled_bytes: 0 })
}

fn most_allocated(scratch: &Scratch) -> Result<Vec<NamedAmount>, StageError> {
    let names = StringTable::open(scratch, TYPE_NAMES)?;
    let mut reader = ColumnReader::open(scratch, TYPES)?;
    let count = reader.remaining().min(SHOWN) as usize;
    let known = |number: u64| (number != ABSENT).then_some(number);
    let shown = read(&mut reader, count)?.into_iter().map(|row| NamedAmount {
        name: names.text(row.type_id as usize).into_owned(),
        place: None,
        count: known(row.allocated_count),
        bytes: known(row.bytes),
    });
    Ok(shown.collect())
}

fn most_allocating(scratch: &Scratch) -> Result<Vec<NamedAmount>, StageError> {
    let names = StringTable::open(scratch, STRINGS)?;
    let mut reader = ColumnReader::open(scratch, FUNCTIONS)?;
    let count = reader.remaining().min(SHOWN) as usize;
    let shown = read(&mut reader, count)?.into_iter().map(|row| NamedAmount {
        name: names.text(row.told_name() as usize).into_owned(),
        place: place(&row, &names),
        count: Some(row.inclusive_count),
        bytes: Some(row.inclusive_bytes),
    });
    Ok(shown.collect())
}

/// The last part of the path of a function's file, and the line.
fn place(row: &FunctionRow, texts: &StringTable) -> Option<String> {
    let (file, line) = row.told_place()?;
    let path = texts.text(file as usize);
    let file = path.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
    Some(format!("{file}:{line}"))
}
