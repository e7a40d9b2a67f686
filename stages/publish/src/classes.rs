//! Stage `classes table`: the class rows as a table.
//!
//! * Computes: nothing.
//! * Reads: `class.{row,name,big,duplicate_count,duplicate_bytes}`, class keys, strings.
//! * Writes: `classes.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::classes`].

use crate::source::{Source, array, nullable, read};
use crate::table::Table;
use crate::text::{NONE, Texts};
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Int32Type, UInt32Type, UInt64Type};
use heaplake_kit::{ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::classes::{ClassRow, FILE, schema};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::run::{self, NamedClass};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Facts, NO_DISTANCE, STRINGS};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "classes table",
    version: 2,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "class rows once",
};

/// Classes that the summary shows.
const SHOWN: u64 = 10;

/// Number of classes, and the largest of them with their names.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Scratch`].
pub fn largest(scratch: &Scratch) -> Result<(u64, Vec<NamedClass>), StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let names = ColumnMap::open(scratch, columns::CLASS_NAME, None)?;
    let mut reader = ColumnReader::open(scratch, columns::CLASS_ROW)?;
    let count = reader.remaining();
    let first = read(&mut reader, count.min(SHOWN) as usize)?;
    let shown = first.iter().map(|row| NamedClass {
        class_id: row.class_id,
        class: strings.text(names[row.class_id as usize].index()).into_owned(),
        count: row.count,
        shallow_bytes: row.shallow_bytes,
        retained_bytes: row.retained_bytes,
    });
    Ok((count, shown.collect()))
}

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    context.progress.begin(STAGE.name, facts.class_count);
    let strings = StringTable::open(scratch, STRINGS)?;
    let keys = StringTable::open(scratch, CLASS_KEYS)?;
    let names = ColumnMap::open(scratch, columns::CLASS_NAME, None)?;
    let count = ColumnReader::open(scratch, columns::CLASS_ROW)?.remaining();
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    table.fill(sources(facts, scratch, (&strings, &keys), &names)?, count, context)?;
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}

/// The columns of the schema, in order; texts are in the tables of names and keys.
fn sources<'a>(
    facts: &Facts,
    scratch: &'a Scratch,
    (strings, keys): (&'a StringTable, &'a StringTable),
    names: &'a [StringId],
) -> Result<Vec<Source<'a>>, StageError> {
    let rows = || {
        let mut reader = ColumnReader::open(scratch, columns::CLASS_ROW)?;
        Ok::<_, StageError>(move |rows| read(&mut reader, rows))
    };
    let bytes = |of: fn(&ClassRow) -> u64| -> Result<Source<'a>, StageError> {
        let mut rows = rows()?;
        Ok(Source::values(move |count| Ok(array::<UInt64Type>(rows(count)?.iter().map(of).collect()))))
    };
    let (mut ids, mut named, mut keyed, mut far) = (rows()?, rows()?, rows()?, rows()?);
    let (big, mut big_of) = (ColumnMap::open(scratch, columns::CLASS_BIG, None)?, rows()?);
    let position = |row: &ClassRow| names[row.class_id as usize].get().unwrap_or(NONE);
    let native = |row: &ClassRow| row.native_bytes;
    let duplicates = |scratch, column| -> Result<Source<'a>, StageError> {
        if !Scratch::has(scratch, column) {
            return Ok(Source::nothing(DataType::UInt64));
        }
        let (by_class, mut rows) = (ColumnMap::open(scratch, column, None)?, rows()?);
        let of = move |row: &ClassRow| by_class[row.class_id as usize];
        Ok(Source::values(move |count| Ok(array::<UInt64Type>(rows(count)?.iter().map(&of).collect()))))
    };
    Ok(vec![
        Source::values(move |count| Ok(array::<UInt32Type>(ids(count)?.iter().map(|row| row.class_id).collect()))),
        Source::texts(Texts::Table(strings), move |count| Ok(named(count)?.iter().map(position).collect())),
        Source::texts(Texts::Table(keys), move |count| Ok(keyed(count)?.iter().map(|row| row.class_id).collect())),
        bytes(|row| row.count)?,
        bytes(|row| row.self_bytes)?,
        bytes(|row| row.shallow_bytes)?,
        if facts.has_native { bytes(native)? } else { Source::nothing(DataType::UInt64) },
        bytes(|row| row.retained_bytes)?,
        bytes(|row| row.max_retained_bytes)?,
        Source::values(move |count| {
            let far: Vec<i32> = far(count)?.iter().map(|row| row.distance).collect();
            let valid = BooleanBuffer::collect_bool(count, |row| far[row] != NO_DISTANCE);
            Ok(nullable::<Int32Type>(far, valid))
        }),
        duplicates(scratch, columns::CLASS_DUPLICATE_COUNT)?,
        duplicates(scratch, columns::CLASS_DUPLICATE_BYTES)?,
        Source::values(move |count| {
            let rows = big_of(count)?;
            let big = BooleanBuffer::collect_bool(count, |row| big[rows[row].class_id as usize] != 0);
            Ok(Arc::new(BooleanArray::new(big, None)))
        }),
    ])
}
