//! Stage `summary`: an analysis in brief, as `heaplake show` prints it.
//!
//! * Computes: the largest classes, owners and sets of duplicates with their names; sums over all sets. Times and
//!   memory, which only the engine knows, are left at 0.
//! * Resident memory: the rows shown, and the findings, a few hundred at most.
//! * Passes over disk: one over the sets; of other columns the first rows.
//! * Worst case: linear in the sets.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::run::Summary`].

use crate::possible_duplicates::{ClassNames, next_step};
use crate::sets::{Example, Words, status};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{
    ColumnMap, ColumnPoints, ColumnReader, Job, Scratch, Setting, Stage, StageError, Stats, StringTable,
};
use heaplake_lake::source::read;
use heaplake_paths::retainer_tree::text::Trees;
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::options::{AnalysisOptions, TableName};
use heaplake_schemas::possible_duplicates::{POSSIBLE_CLASS, PossibleRow};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::retainer_trees::ROWS as RETAINER_TREES;
use heaplake_schemas::run::{
    DuplicateSet, DuplicateSummary, NamedClass, NamedHolder, NamedOwner, PossibleClass, Summary, Totals,
};
use heaplake_schemas::scratch::{self as columns, OWNER_NAMES, OWNER_ROW, SET_PREVIEWS, STRINGS, documents, limits};
use std::sync::Arc;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "summary",
    version: 5,
    when: |setting| setting.analysis(|_| true),
    reads: &[
        document(documents::METADATA),
        document(documents::TOTALS),
        document(documents::LARGEST),
        document(documents::FINDINGS).when(has_findings),
        column(columns::CLASS_ROW),
        column(columns::CLASS_NAME),
        column(RETAINER_TREES).if_any(),
        column(OWNER_ROW).when(has_owners),
        texts(OWNER_NAMES).when(has_owners),
        column(columns::SET_ROW).if_any(),
        column(POSSIBLE_CLASS).if_any(),
        column(columns::NODE_CLASS).when(has_duplicates),
        column(columns::NODE_NAME).when(has_duplicates),
        texts(SET_PREVIEWS).if_any(),
        texts(STRINGS),
    ],
    writes: &[document(documents::SUMMARY)],
    fixed: 4 << 20,
    passes: "sets of duplicates once",
    run,
    ..Stage::NEW
};

fn has_findings(setting: &Setting<'_>) -> bool {
    setting.findings()
}

fn has_owners(setting: &Setting<'_>) -> bool {
    setting.has(TableName::Owners)
}

fn has_duplicates(setting: &Setting<'_>) -> bool {
    setting.duplicates()
}

/// Classes, owners and sets shown.
const CLASSES: u64 = 10;
const OWNERS: u64 = 5;
const SETS: usize = 10;
/// Classes with possible duplicates shown.
const POSSIBLE: usize = 5;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, setting, .. } = *job;
    context.progress.begin(STAGE.name, 0);
    let metadata = Arc::unwrap_or_clone(job.metadata()?);
    let totals: Totals = scratch.read_document(documents::TOTALS)?;
    let (class_count, classes) = classes(scratch)?;
    let is_part = |kind: &&String| metadata.roles.restated_kinds.fit(kind);
    let summary = Summary {
        part_kinds: metadata.node_kinds.iter().filter(is_part).cloned().collect(),
        format: metadata.format,
        node_count: metadata.node_count,
        edge_count: metadata.edge_count,
        string_count: metadata.string_count,
        class_count,
        shallow_bytes: totals.shallow_bytes,
        native_bytes: metadata.has_native.then_some(totals.native_bytes),
        unreachable_count: metadata.node_count - totals.reachable_count,
        unreachable_bytes: totals.shallow_bytes - totals.reachable_bytes,
        detached_count: totals.detached_count,
        partial: metadata.partial,
        remarks: remarks(metadata.remarks, job),
        duplicates: if scratch.has(columns::SET_ROW) { Some(duplicates(totals.shallow_bytes, scratch)?) } else { None },
        no_duplicates: (!scratch.has(columns::SET_ROW)).then(|| no_duplicates(&setting).to_owned()),
        findings: if has_findings(&setting) { scratch.read_document(documents::FINDINGS)? } else { Vec::new() },
        owners: if has_owners(&setting) { owners(scratch)? } else { Vec::new() },
        classes,
        objects: scratch.read_document(documents::LARGEST)?,
        ..Summary::default()
    };
    scratch.write_document(documents::SUMMARY, &summary)?;
    context.progress.end();
    Ok(Stats { rows: 1, spilled_bytes: 0 })
}

/// Number of classes, and the largest ones with their names.
fn classes(scratch: &Scratch) -> Result<(u64, Vec<NamedClass>), StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
    let trees = if scratch.has(RETAINER_TREES) { Some(Trees::open(scratch)?) } else { None };
    let mut reader = ColumnReader::open(scratch, columns::CLASS_ROW)?;
    let count = reader.remaining();
    let first = read(&mut reader, count.min(CLASSES) as usize)?;
    let shown = first.iter().map(|row| NamedClass {
        class_id: row.class_id,
        class: strings.text(names[row.class_id as usize].index()).into_owned(),
        count: row.count,
        shallow_bytes: row.shallow_bytes,
        retained_bytes: row.retained_bytes,
        holders: trees.as_ref().map_or_else(Vec::new, |trees| holders(trees, row.class_id)),
    });
    Ok((count, shown.collect()))
}

/// Holders of the instances of a class, if it has several.
fn holders(trees: &Trees, class: u32) -> Vec<NamedHolder> {
    let named = |at: usize| {
        let row = &trees.rows()[at];
        NamedHolder {
            branch: at as u32,
            text: trees.long_text(at),
            count: row.count,
            exclusive_count: row.exclusive_count,
            looked_at: row.looked_at,
        }
    };
    trees.shared(class).into_iter().map(named).collect()
}

/// The largest owners with their names.
fn owners(scratch: &Scratch) -> Result<Vec<NamedOwner>, StageError> {
    let names = StringTable::open(scratch, OWNER_NAMES)?;
    let mut reader = ColumnReader::open(scratch, OWNER_ROW)?;
    let count = reader.remaining().min(OWNERS) as usize;
    let rows = read(&mut reader, count)?;
    let shown = rows.iter().enumerate().map(|(at, row)| NamedOwner {
        owner: names.text(at).into_owned(),
        count: row.count,
        shallow_bytes: row.shallow_bytes,
        retained_bytes: row.retained_bytes,
        freed_bytes: Some(row.freed_bytes).filter(|&bytes| bytes != ABSENT),
    });
    Ok(shown.collect())
}

/// The sets of duplicates in brief. Sets may free the same objects, so sums are at most the size of the `whole` heap.
fn duplicates(whole: u64, scratch: &Scratch) -> Result<DuplicateSummary, StageError> {
    let mut reader = ColumnReader::open(scratch, columns::SET_ROW)?;
    let words = Words::open(scratch)?;
    let classes = ColumnPoints::open(scratch, columns::NODE_CLASS)?;
    let names = ColumnPoints::open(scratch, columns::NODE_NAME)?;
    let mut summary = DuplicateSummary::default();
    for set in 0..reader.remaining() as u32 {
        let row = reader.next()?;
        let outermost = count(&row, &mut summary);
        if outermost && summary.largest.len() < SETS {
            let example = Example::of(&row, &mut &classes, Some(&mut &names))?;
            summary.largest.push(DuplicateSet {
                set,
                class: words.class_name(example),
                status: status(&row).to_owned(),
                members: row.members.into(),
                instance_bytes: row.instance_bytes,
                additional_bytes: row.additional_bytes,
                least_bytes: Some(row.least_bytes),
                most_bytes: Some(row.most_bytes).filter(|&bytes| bytes != ABSENT),
                preview: words.preview(set, example),
            });
        }
    }
    let DuplicateSummary { additional_bytes, most_bytes, possible_bytes, .. } = &mut summary;
    [additional_bytes, most_bytes, possible_bytes].into_iter().for_each(|sum| *sum = whole.min(*sum));
    possible(&mut summary, scratch)?;
    Ok(summary)
}

/// The classes with possible duplicates in brief.
fn possible(summary: &mut DuplicateSummary, scratch: &Scratch) -> Result<(), StageError> {
    if !scratch.has(POSSIBLE_CLASS) {
        return Ok(());
    }
    let (mut rows, names) = (ColumnReader::open(scratch, POSSIBLE_CLASS)?, ClassNames::open(scratch)?);
    summary.possible_class_count = rows.remaining();
    while summary.possible_classes.len() < POSSIBLE && rows.remaining() > 0 {
        let row: PossibleRow = rows.next()?;
        summary.possible_classes.push(PossibleClass {
            class_id: row.class.0,
            class: names.of(row.class),
            members: row.members(),
            bytes: row.bytes,
            next_step: next_step(&names.whole(row.class), &row),
        });
    }
    Ok(())
}

/// Reason for a missing column of sets.
fn no_duplicates(setting: &Setting<'_>) -> &'static str {
    match setting.duplicates() {
        true => NO_VALUES,
        false if !setting.analysis(AnalysisOptions::has_contents) => "the texts are absent (--texts none)",
        false => "nobody asked for them",
    }
}

const NO_VALUES: &str = "this format has no values of objects to compare";

/// Adds a remark if requested duplicates are impossible in this format.
fn remarks(mut remarks: Vec<String>, job: &Job<'_>) -> Vec<String> {
    if job.setting.looks_into_references() && !job.scratch.has(columns::SET_ROW) {
        remarks.push(format!("duplicates were not looked for: {NO_VALUES}"));
    }
    remarks
}

/// Counts a set; returns whether it was fully compared and lies in no other set.
fn count(row: &SetRow, summary: &mut DuplicateSummary) -> bool {
    let looked_into = row.reasons & (limits::MODE | limits::WORK) == 0;
    match (row.reasons, looked_into) {
        (0, _) => summary.exact += 1,
        (_, true) => summary.limited += 1,
        (_, false) => summary.open += 1,
    }
    let outermost = row.held_by.is_none() && looked_into;
    if outermost {
        let most = if row.most_bytes == ABSENT { row.additional_bytes } else { row.most_bytes };
        if row.reasons == 0 {
            summary.additional_bytes = summary.additional_bytes.saturating_add(row.least_bytes);
            summary.most_bytes = summary.most_bytes.saturating_add(most);
        } else {
            summary.possible_bytes = summary.possible_bytes.saturating_add(most);
        }
    }
    outermost
}
