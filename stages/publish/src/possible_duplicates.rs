//! Findings about classes with possible duplicates: one for each class, however many there are. They are made a row at a
//! time, and never held all together.

use heaplake_kit::text::{class_option, count, shorten, size};
use heaplake_kit::{ColumnMap, ColumnReader, Scratch, StageError, StringTable};
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::possible_classes::{POSSIBLE_CLASS, PossibleRow, RULE};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, STRINGS};

/// Characters of a class name that a message shows.
const MOST_NAME: usize = 80;

/// The findings, largest first.
pub(crate) struct ClassIssues {
    rows: ColumnReader<PossibleRow>,
    names: ColumnMap<StringId>,
    strings: StringTable,
    keys: StringTable,
}

impl ClassIssues {
    /// Those of a run; `None` where duplicates were not looked for.
    pub(crate) fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(POSSIBLE_CLASS) {
            return Ok(None);
        }
        Ok(Some(Self {
            rows: ColumnReader::open(scratch, POSSIBLE_CLASS)?,
            names: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            strings: StringTable::open(scratch, STRINGS)?,
            keys: StringTable::open(scratch, CLASS_KEYS)?,
        }))
    }

    /// How many there are.
    pub(crate) fn remaining(&self) -> u64 {
        self.rows.remaining()
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Result<Option<Finding>, StageError> {
        if self.rows.remaining() == 0 {
            return Ok(None);
        }
        let row = self.rows.next()?;
        let class = row.class.index();
        let name = self.strings.text(self.names[class].index());
        Ok(Some(Finding {
            rule: RULE.to_owned(),
            severity: Severity::Low,
            scope: Scope::Class,
            subject: shorten(&name, MOST_NAME),
            class_id: Some(row.class.0),
            set: Some(row.largest.0),
            node: None,
            type_id: None,
            function_id: None,
            count: row.uncompared + row.untold,
            bytes: row.bytes,
            message: message(&shorten(&name, MOST_NAME), &row),
            next_step: next_step(&name, &row),
            path: Vec::new(),
            holder_node: None,
            owner: None,
            place: None,
            class_key: Some(self.keys.text(class).into_owned()),
            stable_path: Vec::new(),
        }))
    }
}

/// What is known of a class.
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

/// How to learn more: nothing where only the input could tell it.
pub(crate) fn next_step(class: &str, row: &PossibleRow) -> String {
    match row.uncompared {
        0 => String::new(),
        _ => format!("Run `heaplake duplicates RUN {}` to compare them.", class_option(class)),
    }
}
