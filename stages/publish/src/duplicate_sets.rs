//! Stage `sets table`: the sets of duplicate instances as a table.
//!
//! * Computes: reasons and previews as texts.
//! * Resident memory: one batch of rows; 8 bytes per node (classes 4, names 4), paged where the budget does not allow
//!   it. Names are not needed if the format's reader made previews.
//! * Passes over disk: one over the sets; classes and names of nodes at random, one of each a set.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::duplicate_sets`].

use crate::sets::{Example, Words, reason, status};
use crate::signature_columns::{names, signed_rows};
use crate::writer;
use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, StringBuilder, UInt32Array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{array, read, sizes};
use heaplake_paths::chains::cut;
use heaplake_schemas::duplicate_sets::{SetRow, TABLE};
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::{self as columns, CLASS_SIGNATURES, SET_PREVIEWS, STRINGS, documents};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "sets table",
    version: 3,
    when: |setting| setting.has(TableName::DuplicateSets) && setting.duplicates(),
    reads: &[
        document(documents::METADATA),
        column(columns::SET_ROW),
        column(columns::NODE_CLASS),
        column(columns::NODE_NAME),
        column(columns::CLASS_NAME),
        texts(SET_PREVIEWS).if_any(),
        texts(CLASS_SIGNATURES),
        texts(STRINGS),
    ],
    arrays: &[&[per_node::<ClassId>(), per_node::<StringId>()]],
    fixed: 24 << 20,
    passes: "sets once",
    run,
    ..Stage::NEW
};

/// Rows of a row group.
const ROWS: usize = 1 << 14;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut reader = ColumnReader::open(scratch, columns::SET_ROW)?;
    context.progress.begin(STAGE.name, reader.remaining());
    let words = Words::open(scratch)?;
    let (rules, signatures) = (names(job, &job.metadata()?.format), StringTable::open(scratch, CLASS_SIGNATURES)?);
    let names = words.need_names().then(|| lookup(columns::NODE_NAME));
    let (mut classes, mut names) = ArrayPlan::of(job, STAGE.name).make((lookup(columns::NODE_CLASS), names))?;
    let mut table = writer::create(job, &TABLE)?;
    let mut first = 0;
    while reader.remaining() > 0 {
        let count = ROWS.min(reader.remaining() as usize);
        let rows = read(&mut reader, count)?;
        let examples: Result<Vec<Example>, StageError> =
            rows.iter().map(|row| Example::of(row, &mut classes, names.as_mut())).collect();
        let examples = examples?;
        let signed = (first..).zip(rows.iter().zip(&examples)).map(|(set, (row, &example))| {
            let class = cut(signatures.text(example.class.index()));
            rules.duplicate_set(&class, status(row), words.preview(set, example).as_deref())
        });
        let signed = signed_rows(&signed.collect::<Vec<_>>());
        table.write(&columns(first, &rows, &examples, &words).into_iter().chain(signed).collect::<Vec<_>>())?;
        first += rows.len() as u32;
        context.step(rows.len() as u64)?;
    }
    writer::finish(job, table)
}

/// Converts [`ABSENT`] to null.
fn bounded(bytes: u64) -> Option<i64> {
    (bytes != ABSENT).then(|| i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// The columns of the schema in order, without the last two.
fn columns(first: u32, rows: &[SetRow], examples: &[Example], words: &Words) -> [ArrayRef; 15] {
    let numbers = |of: fn(&SetRow) -> u64| sizes(rows.iter().map(of).collect());
    let flags = |of: fn(&SetRow) -> bool| Arc::new(rows.iter().map(|row| Some(of(row))).collect::<BooleanArray>());
    let texts = |of: &dyn Fn(&SetRow, Example) -> Option<String>| -> ArrayRef {
        let mut builder = StringBuilder::new();
        rows.iter().zip(examples).for_each(|(row, &example)| builder.append_option(of(row, example)));
        Arc::new(builder.finish())
    };
    let previews = (first..).zip(examples).map(|(set, &example)| words.preview(set, example));
    [
        array::<UInt32Type>((first..first + rows.len() as u32).collect()),
        array::<UInt32Type>(examples.iter().map(|example| example.class.0).collect()),
        texts(&|_, example| Some(words.class_name(example))),
        texts(&|row, _| Some(status(row).to_owned())),
        texts(&|row, _| reason(row.reasons)),
        flags(|row| row.trivial == 1),
        numbers(|row| row.members.into()),
        numbers(|row| row.instance_bytes),
        numbers(|row| row.additional_bytes),
        flags(|row| row.exact == 1),
        numbers(|row| row.least_bytes),
        Arc::new(rows.iter().map(|row| bounded(row.most_bytes)).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.held_by.get()).collect::<UInt32Array>()),
        array::<UInt32Type>(rows.iter().map(|row| row.example.0).collect()),
        Arc::new(previews.collect::<StringArray>()),
    ]
}
