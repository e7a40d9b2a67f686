//! Stage `possible duplicates table`: the classes with possible duplicates, each with a sentence and the command that
//! compares them.
//!
//! * Resident memory: one batch of rows with their sentences.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::possible_duplicates`].

use crate::rows::Rows;
use crate::writer::write;
use arrow::array::{ArrayRef, StringArray};
use heaplake_kit::access::{column, texts};
use heaplake_kit::text::{class_option, count, shorten, size};
use heaplake_kit::{ColumnMap, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::Texts;
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::possible_duplicates::{FILE, POSSIBLE_CLASS, PossibleRow, schema};
use heaplake_schemas::scratch::{CLASS_KEYS, CLASS_NAME, STRINGS};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "possible duplicates table",
    when: |setting| setting.findings() && setting.duplicates(),
    reads: &[column(POSSIBLE_CLASS), column(CLASS_NAME), texts(CLASS_KEYS), texts(STRINGS)],
    fixed: 8 << 20,
    passes: "classes with possible duplicates once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let rows = Rows::of(job.scratch, POSSIBLE_CLASS);
    let (names, keys) = (ClassNames::open(job.scratch)?, StringTable::open(job.scratch, CLASS_KEYS)?);
    let (mut classes, mut sentences, mut steps) =
        (rows.values(|row| row.class)?, rows.values(|row| *row)?, rows.values(|row| *row)?);
    let texts_of = |texts: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let sources = vec![
        rows.u32s(|row| row.class.0)?,
        Source::values(|rows| Ok(texts_of(classes(rows)?.into_iter().map(|class| names.of(class)).collect()))),
        Source::texts(Texts::Table(&keys), rows.values(|row| row.class.0)?),
        rows.u32s(|row| row.sets)?,
        rows.u32s(|row| row.largest.0)?,
        rows.sizes(PossibleRow::members)?,
        rows.sizes(|row| row.untold)?,
        rows.sizes(|row| row.bytes)?,
        Source::values(|rows| {
            let sentence = |row: PossibleRow| message(&names.of(row.class), &row);
            Ok(texts_of(sentences(rows)?.into_iter().map(sentence).collect()))
        }),
        Source::values(|rows| {
            let step = |row: PossibleRow| next_step(&names.whole(row.class), &row);
            Ok(texts_of(steps(rows)?.into_iter().map(step).collect()))
        }),
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}

/// Maximum characters of a class name in a row or sentence.
const MOST_NAME: usize = 80;

/// Names of classes.
pub(crate) struct ClassNames {
    names: ColumnMap<StringId>,
    strings: StringTable,
}

impl ClassNames {
    /// Opens the names of a run.
    pub(crate) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { names: ColumnMap::uncounted(scratch, CLASS_NAME)?, strings: StringTable::open(scratch, STRINGS)? })
    }

    /// Returns the name of a class, shortened.
    pub(crate) fn of(&self, class: ClassId) -> String {
        shorten(&self.whole(class), MOST_NAME)
    }

    /// Returns the whole name.
    pub(crate) fn whole(&self, class: ClassId) -> String {
        self.strings.text(self.names[class.index()].index()).into_owned()
    }
}

/// Describes the possible duplicates of a class.
fn message(class: &str, row: &PossibleRow) -> String {
    let sets = if row.sets == 1 { "1 set".to_owned() } else { format!("{} sets", count(row.sets.into())) };
    let (uncompared, untold) = (count(row.uncompared), count(row.untold));
    let what = match (row.uncompared, row.untold) {
        (_, 0) => format!("{uncompared} {class} look alike, but what they refer to was not compared"),
        (0, _) => format!("{untold} {class} look the same as far as the snapshot tells"),
        _ => format!(
            "{uncompared} {class} look alike, but what they refer to was not compared; {untold} more look the same as far \
             as the snapshot tells"
        ),
    };
    format!(
        "{what} ({sets}). If they are duplicates, sharing them saves {} without what they refer to",
        size(row.bytes)
    )
}

/// Returns the advice for a class; empty where only the input could decide.
pub(crate) fn next_step(class: &str, row: &PossibleRow) -> String {
    match row.uncompared {
        0 => String::new(),
        _ => format!("Run `heaplake duplicates RUN {}` to compare them.", class_option(class)),
    }
}
