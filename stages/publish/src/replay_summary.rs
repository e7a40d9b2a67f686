//! Stage `replay summary`: a replayed trace in brief, as `heaplake show` prints it.
//!
//! * Computes: the most allocated types, the functions that allocate most, and the call paths with most objects that
//!   grew old and died, with their names. Times and memory, which only the engine knows, are left at 0.
//! * Resident memory: the rows shown, and the findings, a few hundred at most; 4 bytes per level of the call tree.
//! * Passes over disk: the first rows of types and functions; paths twice.
//! * Worst case: linear in paths.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contracts of [`heaplake_schemas::run::Replay`] and [`heaplake_schemas::run::Summary`].

use crate::{collapsed, deep_stacks, pprof};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{BudgetVec, ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::read;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::lifetime_paths::PathRow;
use heaplake_schemas::options::{Recording, TraceTable};
use heaplake_schemas::replay::{
    ABSENT, COLLAPSED_CUT, FUNCTIONS, METADATA, Metadata, PATHS, PPROF_CUT, STRINGS, TYPE_NAMES, TYPES,
};
use heaplake_schemas::run::{NamedAmount, Replay, Summary};
use heaplake_schemas::scratch::documents;
use std::cmp::Reverse;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "replay summary",
    version: 4,
    when: |setting| setting.replay(|_| true),
    reads: &[
        document(METADATA),
        document(documents::FINDINGS).when(|setting| setting.traces(TraceTable::Findings)),
        column(TYPES),
        texts(TYPE_NAMES),
        column(FUNCTIONS),
        texts(STRINGS),
        column(PATHS).if_any(),
        document(COLLAPSED_CUT).when(|setting| setting.replay(|options| options.recording.collapsed)),
        document(PPROF_CUT).when(|setting| setting.replay(|options| options.recording.pprof)),
    ],
    writes: &[document(documents::SUMMARY), document(documents::REPLAY)],
    fixed: 4 << 20,
    passes: "first rows of types and functions, paths twice",
    run,
    ..Stage::NEW
};

/// Types, functions and paths shown.
const SHOWN: u64 = 10;
/// Functions of a path shown.
const INNERMOST: usize = 8;
/// Index of the oldest generation.
const OLDEST: u32 = 2;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, setting, .. } = *job;
    context.progress.begin(STAGE.name, 0);
    let mut metadata: Metadata = scratch.read_document(METADATA)?;
    metadata.remarks.extend(cut_stacks(job)?);
    let has_findings = setting.traces(TraceTable::Findings);
    let summary = Summary {
        format: metadata.format.clone(),
        partial: metadata.left_out.clone(),
        findings: if has_findings { scratch.read_document(documents::FINDINGS)? } else { Vec::new() },
        ..Summary::default()
    };
    scratch.write_document(documents::SUMMARY, &summary)?;
    let (types, functions, old_paths) = (most_allocated(scratch)?, most_allocating(scratch)?, oldest(job)?);
    let replay = Replay { types, functions, old_paths, metadata };
    scratch.write_document(documents::REPLAY, &replay)?;
    context.progress.end();
    Ok(Stats { rows: 1, spilled_bytes: 0 })
}

/// Sentences about deep stacks cut in exports.
fn cut_stacks(job: &Job<'_>) -> Result<Vec<String>, StageError> {
    let asked = |of: fn(&Recording) -> bool| job.setting.replay(|options| of(&options.recording));
    let exports = [
        (asked(|recording| recording.collapsed), collapsed::FILE, COLLAPSED_CUT),
        (asked(|recording| recording.pprof), pprof::FILE, PPROF_CUT),
    ];
    let mut remarks = Vec::new();
    for (_, file, document) in exports.into_iter().filter(|(is_asked, ..)| *is_asked) {
        remarks.extend(deep_stacks::remark(file, &job.scratch.read_document(document)?));
    }
    Ok(remarks)
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

/// File name and line of a function.
fn place(row: &FunctionRow, texts: &StringTable) -> Option<String> {
    let (file, line) = row.told_place()?;
    let path = texts.text(file as usize);
    let file = path.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
    Some(format!("{file}:{line}"))
}

/// Returns the paths with most bytes that died in the oldest generation; ties in input order.
fn oldest(job: &Job<'_>) -> Result<Vec<NamedAmount>, StageError> {
    let Job { scratch, context, .. } = *job;
    if !scratch.has(PATHS) {
        return Ok(Vec::new());
    }
    let is_old = |row: &PathRow| row.generation == OLDEST && row.exclusive_count > 0;
    let mut shown: Vec<(Reverse<u64>, u32)> = Vec::new();
    let mut reader = ColumnReader::open(scratch, PATHS)?;
    while reader.remaining() > 0 {
        let row = reader.next()?;
        if is_old(&row) {
            let key = (Reverse(row.exclusive_bytes), row.node);
            shown.insert(shown.partition_point(|other| *other < key), key);
            shown.truncate(SHOWN as usize);
        }
    }
    let names = StringTable::open(scratch, STRINGS)?;
    let mut path: BudgetVec<u32> = context.budget.growing("a path of calls");
    let mut found = Vec::new();
    let mut reader = ColumnReader::open(scratch, PATHS)?;
    while reader.remaining() > 0 && found.len() < shown.len() {
        let row = reader.next()?;
        while path.len() > row.depth as usize {
            path.pop();
        }
        path.push(row.function)?;
        let place = shown.iter().position(|&(_, node)| node == row.node).filter(|_| is_old(&row));
        if let Some(place) = place {
            let (count, bytes) = (Some(row.exclusive_count), Some(row.exclusive_bytes));
            found.push((place, NamedAmount { name: text(&path, &names), count, bytes, place: None }));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, amount)| amount).collect())
}

/// Text of a path, innermost function first; a long one is cut.
fn text(path: &[u32], names: &StringTable) -> String {
    let inner = path.iter().rev().take(INNERMOST);
    let mut text = inner.map(|&name| names.text(name as usize).into_owned()).collect::<Vec<_>>().join(" < ");
    if path.len() > INNERMOST {
        text.push_str(" < …");
    }
    text
}
