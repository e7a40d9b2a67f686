//! Stage `sets table`: the sets of duplicate instances as a table.
//!
//! * Computes: reasons and previews as texts.
//! * Reads: `set.{row,preview}`, `node.{class,name}` at random, `class.name`, strings.
//! * Writes: `duplicate_sets.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::duplicate_sets`].

use crate::source::array;
use crate::table::Table;
use arrow::array::{ArrayRef, BooleanArray, StringArray, StringBuilder, UInt32Array};
use arrow::datatypes::{UInt32Type, UInt64Type};
use heaplake_kit::{ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::duplicate_sets::{FILE, SetRow, schema};
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::run::{self, DuplicateSet, DuplicateSummary};
use heaplake_schemas::scratch::{self as columns, Facts, SET_PREVIEWS, STRINGS, limits};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "sets table",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 16 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "sets once",
};

/// Rows of a row group.
const ROWS: usize = 1 << 14;

/// Characters of a preview, at most.
const PREVIEW: usize = 120;

/// Sets that the summary shows.
const SHOWN: usize = 10;

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    let mut reader = ColumnReader::open(scratch, columns::SET_ROW)?;
    context.progress.begin(STAGE.name, reader.remaining());
    let names = Names::open(scratch)?;
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    let mut first = 0;
    while reader.remaining() > 0 {
        let count = ROWS.min(reader.remaining() as usize);
        let rows = crate::source::read(&mut reader, count)?;
        table.write(&names.columns(first, &rows))?;
        first += rows.len() as u32;
        context.step(rows.len() as u64)?;
    }
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}

/// The sets in brief. Reads all rows of sets once.
///
/// # Errors
/// [`StageError::Io`].
pub fn summary(scratch: &Scratch) -> Result<DuplicateSummary, StageError> {
    let mut reader = ColumnReader::open(scratch, columns::SET_ROW)?;
    let names = Names::open(scratch)?;
    let mut summary = DuplicateSummary::default();
    for set in 0..reader.remaining() as u32 {
        names.count(set, &reader.next()?, &mut summary);
    }
    Ok(summary)
}

/// Why a set is only a possible one, in words.
#[must_use]
pub fn reason(bits: u8) -> Option<String> {
    const WORDS: [(u8, &str); 5] = [
        (limits::MODE, "references not looked into: not asked for"),
        (limits::WORK, "references not looked into to the end: the allowed work did not suffice"),
        (limits::NUMBERS, "numbers are not in the file"),
        (limits::TEXTS, "only the beginning of a text is in the file"),
        (limits::CONTENTS, "the content of a part is not in the file"),
    ];
    let words: Vec<&str> = WORDS.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, words)| words).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

struct Names {
    strings: StringTable,
    classes: ColumnMap<ClassId>,
    class_names: ColumnMap<StringId>,
    node_names: ColumnMap<StringId>,
    /// Where the reader of the format made them.
    previews: Option<StringTable>,
}

impl Names {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            classes: ColumnMap::open(scratch, columns::NODE_CLASS, None)?,
            class_names: ColumnMap::open(scratch, columns::CLASS_NAME, None)?,
            node_names: ColumnMap::open(scratch, columns::NODE_NAME, None)?,
            previews: match scratch.has(SET_PREVIEWS.start) {
                true => Some(StringTable::open(scratch, SET_PREVIEWS)?),
                false => None,
            },
        })
    }

    fn class(&self, row: &SetRow) -> ClassId {
        self.classes[row.example.index()]
    }

    fn class_name(&self, row: &SetRow) -> String {
        self.strings.text(self.class_names[self.class(row).index()].index()).into_owned()
    }

    /// What a member looks like: what the reader of the format says, or its own name, where that is not only its class.
    fn preview(&self, set: u32, row: &SetRow) -> Option<String> {
        if let Some(previews) = &self.previews {
            return Some(previews.text(set as usize).into_owned()).filter(|text| !text.is_empty());
        }
        let name = self.node_names[row.example.index()];
        if name.is_none() || name == self.class_names[self.class(row).index()] {
            return None;
        }
        let text = self.strings.text(name.index());
        if text.is_empty() {
            return None;
        }
        let mut shown: String = text.chars().take(PREVIEW).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Some(format!("{shown:?}"))
    }

    fn count(&self, set: u32, row: &SetRow, summary: &mut DuplicateSummary) {
        let looked_into = row.reasons & (limits::MODE | limits::WORK) == 0;
        match (row.reasons, looked_into) {
            (0, _) => summary.exact += 1,
            (_, true) => summary.limited += 1,
            (_, false) => summary.open += 1,
        }
        if row.held_by.is_none() && looked_into {
            let sum = if row.reasons == 0 { &mut summary.additional_bytes } else { &mut summary.possible_bytes };
            *sum = sum.saturating_add(row.additional_bytes);
        }
        if row.held_by.is_none() && looked_into && summary.largest.len() < SHOWN {
            summary.largest.push(DuplicateSet {
                set,
                class: self.class_name(row),
                status: status(row).to_owned(),
                members: row.members.into(),
                instance_bytes: row.instance_bytes,
                additional_bytes: row.additional_bytes,
                preview: self.preview(set, row),
            });
        }
    }

    fn columns(&self, first: u32, rows: &[SetRow]) -> [ArrayRef; 13] {
        let numbers = |of: fn(&SetRow) -> u64| array::<UInt64Type>(rows.iter().map(of).collect());
        let flags = |of: fn(&SetRow) -> bool| Arc::new(rows.iter().map(|row| Some(of(row))).collect::<BooleanArray>());
        let texts = |of: &dyn Fn(&SetRow) -> Option<String>| -> ArrayRef {
            let mut builder = StringBuilder::new();
            rows.iter().for_each(|row| builder.append_option(of(row)));
            Arc::new(builder.finish())
        };
        [
            array::<UInt32Type>((first..first + rows.len() as u32).collect()),
            array::<UInt32Type>(rows.iter().map(|row| self.class(row).0).collect()),
            texts(&|row| Some(self.class_name(row))),
            texts(&|row| Some(status(row).to_owned())),
            texts(&|row| reason(row.reasons)),
            flags(|row| row.trivial == 1),
            numbers(|row| row.members.into()),
            numbers(|row| row.instance_bytes),
            numbers(|row| row.additional_bytes),
            flags(|row| row.exact == 1),
            Arc::new(rows.iter().map(|row| row.held_by.get()).collect::<UInt32Array>()),
            array::<UInt32Type>(rows.iter().map(|row| row.example.0).collect()),
            Arc::new((first..).zip(rows).map(|(set, row)| self.preview(set, row)).collect::<StringArray>()),
        ]
    }
}

fn status(row: &SetRow) -> &'static str {
    if row.reasons == 0 { "exact" } else { "possible" }
}
