//! Stage `classes table`: the class rows as a table.
//!
//! * Computes: nothing.
//! * Reads: the document of class rows, `class.name`, class keys, strings.
//! * Writes: `classes.parquet`.
//! * Resident memory: the rows, some 200 bytes each.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::classes`].

use crate::table::{self, BATCH, Table};
use arrow::array::{ArrayRef, Int32Array, UInt32Array, UInt64Array, new_null_array};
use arrow::datatypes::DataType;
use heaplake_kit::{ColumnMap, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::classes::{ClassRow, FILE, schema};
use heaplake_schemas::run::{self, NamedClass};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Facts, STRINGS, documents};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "classes table", version: 1, bytes_per_node: 0, bytes_per_edge: 0, bytes_fixed: 8 << 20 };

/// Classes that the summary shows.
const SHOWN: usize = 10;

/// Writes the table, and gives the largest classes with their names.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Vec<NamedClass>, Stats), StageError> {
    context.progress.begin(STAGE.name, facts.class_count);
    let rows: Vec<ClassRow> = scratch.read_document(documents::CLASS_ROWS)?;
    let _rows = context.budget.reserve("classes table: rows", (rows.len() * size_of::<ClassRow>()) as u64)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let keys = StringTable::open(scratch, CLASS_KEYS)?;
    let names = ColumnMap::open(scratch, columns::CLASS_NAME, None)?;
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    for rows in rows.chunks(BATCH) {
        let bytes =
            |of: fn(&ClassRow) -> u64| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) };
        let name = rows.iter().map(|row| names[row.class_id as usize].get());
        table.write(vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.class_id))),
            Arc::new(table::texts(&strings, name)),
            Arc::new(table::texts(&keys, rows.iter().map(|row| Some(row.class_id)))),
            bytes(|row| row.count),
            bytes(|row| row.self_bytes),
            bytes(|row| row.shallow_bytes),
            if facts.has_native {
                bytes(|row| row.native_bytes)
            } else {
                new_null_array(&DataType::UInt64, rows.len())
            },
            bytes(|row| row.retained_bytes),
            bytes(|row| row.max_retained_bytes),
            Arc::new(Int32Array::from_iter(rows.iter().map(|row| row.distance))),
            new_null_array(&DataType::UInt64, rows.len()),
            new_null_array(&DataType::UInt64, rows.len()),
            new_null_array(&DataType::Boolean, rows.len()),
        ])?;
        context.step(rows.len() as u64)?;
    }
    let table = table.finish()?;
    let shown = rows.into_iter().take(SHOWN).map(|row| {
        let name = names[row.class_id as usize];
        NamedClass { class: strings.text(name.index()).into_owned(), row }
    });
    let shown = shown.collect();
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, shown, stats))
}
