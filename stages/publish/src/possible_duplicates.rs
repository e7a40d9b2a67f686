//! Stage `possible duplicates table`: the classes with possible duplicates, each with a sentence and the command that
//! compares them.
//!
//! * Resident memory: one batch of rows with their sentences.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::possible_duplicates`].

use crate::rows::{Rows, write};
use arrow::array::StringArray;
use heaplake_kit::access::{column, texts};
use heaplake_kit::text::{class_option, count, shorten, size};
use heaplake_kit::{ColumnMap, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::possible_duplicates::{POSSIBLE_CLASS, PossibleRow};
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
    let names = ClassNames::open(job.scratch)?;
    let texts = |of: fn(&ClassNames, &PossibleRow) -> String| -> Result<Source<'_>, StageError> {
        let (mut rows, names) = (rows.values(|row| *row)?, &names);
        Ok(Source::values(move |count| {
            Ok(Arc::new(rows(count)?.iter().map(|row| Some(of(names, row))).collect::<StringArray>()))
        }))
    };
    let computed = vec![
        ("class", texts(|names, row| names.of(row.class))?),
        ("message", texts(|names, row| message(&names.of(row.class), row))?),
        ("next_step", texts(|names, row| next_step(&names.whole(row.class), row))?),
    ];
    write::<PossibleRow>(job, STAGE.name, computed)
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
