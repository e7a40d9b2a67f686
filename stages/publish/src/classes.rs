//! Stage `classes table`: the class rows as a table.
//!
//! * Computes: nothing.
//! * Reads: `class.row`, `class.name`, class keys, strings.
//! * Writes: `classes.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::classes`].

use crate::table::{BATCH, Table};
use arrow::array::{ArrayRef, Int32Array, UInt32Array, UInt64Array, new_null_array};
use arrow::datatypes::DataType;
use bytemuck::Zeroable;
use heaplake_kit::{ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::classes::{ClassRow, FILE, schema};
use heaplake_schemas::run::{self, NamedClass};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Facts, NO_DISTANCE, STRINGS};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "classes table",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "class rows once",
};

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
    let mut reader = ColumnReader::open(scratch, columns::CLASS_ROW)?;
    let mut shown = Vec::new();
    let strings = StringTable::open(scratch, STRINGS)?;
    let keys = StringTable::open(scratch, CLASS_KEYS)?;
    let names = ColumnMap::open(scratch, columns::CLASS_NAME, None)?;
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    while reader.remaining() > 0 {
        let mut rows = vec![ClassRow::zeroed(); reader.remaining().min(BATCH as u64) as usize];
        reader.read_into(&mut rows)?;
        let bytes =
            |of: fn(&ClassRow) -> u64| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) };
        let name = rows.iter().map(|row| names[row.class_id as usize].get());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.class_id))),
            Arc::new(UInt32Array::from_iter(name)),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.class_id))),
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
            Arc::new(Int32Array::from_iter(
                rows.iter().map(|row| Some(row.distance).filter(|&far| far != NO_DISTANCE)),
            )),
            new_null_array(&DataType::UInt64, rows.len()),
            new_null_array(&DataType::UInt64, rows.len()),
            new_null_array(&DataType::Boolean, rows.len()),
        ];
        table.write_with_texts(&columns, &[("class", &strings), ("class_key", &keys)])?;
        let name = |row: &ClassRow| strings.text(names[row.class_id as usize].index()).into_owned();
        shown.extend(rows.iter().take(SHOWN - shown.len()).map(|row| NamedClass {
            class_id: row.class_id,
            class: name(row),
            count: row.count,
            shallow_bytes: row.shallow_bytes,
            retained_bytes: row.retained_bytes,
        }));
        context.step(rows.len() as u64)?;
    }
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, shown, stats))
}
