//! Stage `classes table`: the class rows as a table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::classes`].

use crate::signature_columns::signed;
use crate::writer::write;
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Int32Type, UInt32Type};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnMap, ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, array, nullable, read, sizes};
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::classes::{ClassRow, FILE, schema};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{
    self as columns, CLASS_KEYS, CLASS_SIGNATURES, Metadata, NO_DISTANCE, STRINGS, documents,
};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "classes table",
    version: 3,
    when: |setting| setting.has(TableName::Classes),
    reads: &[
        document(documents::METADATA),
        column(columns::CLASS_ROW),
        column(columns::CLASS_NAME),
        column(columns::CLASS_BIG),
        column(columns::CLASS_DUPLICATE_COUNT).if_any(),
        column(columns::CLASS_DUPLICATE_BYTES).if_any(),
        texts(CLASS_KEYS),
        texts(CLASS_SIGNATURES),
        texts(STRINGS),
    ],
    fixed: 8 << 20,
    passes: "class rows once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let scratch = job.scratch;
    let strings = StringTable::open(scratch, STRINGS)?;
    let keys = StringTable::open(scratch, CLASS_KEYS)?;
    let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
    let count = ColumnReader::open(scratch, columns::CLASS_ROW)?.remaining();
    let signatures = StringTable::open(scratch, CLASS_SIGNATURES)?;
    let mut sources = sources(&*job.metadata()?, scratch, (&strings, &keys), &names)?;
    sources.extend(signed(&signatures, || {
        let mut rows = ColumnReader::open(scratch, columns::CLASS_ROW)?;
        Ok(move |count| Ok(read(&mut rows, count)?.iter().map(|row: &ClassRow| row.class_id).collect()))
    })?);
    write(job, STAGE.name, (FILE, schema()), sources, count)
}

/// The columns of the schema, in order; texts are in the tables of names and keys.
fn sources<'a>(
    metadata: &Metadata,
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
        Ok(Source::values(move |count| Ok(sizes(rows(count)?.iter().map(of).collect()))))
    };
    let (mut ids, mut named, mut keyed, mut far) = (rows()?, rows()?, rows()?, rows()?);
    let (big, mut big_of) = (ColumnMap::uncounted(scratch, columns::CLASS_BIG)?, rows()?);
    let position = |row: &ClassRow| names[row.class_id as usize].get().unwrap_or(NONE);
    let native = |row: &ClassRow| row.native_bytes;
    let duplicates = |scratch, column| -> Result<Source<'a>, StageError> {
        if !Scratch::has(scratch, column) {
            return Ok(Source::nothing());
        }
        let (by_class, mut rows) = (ColumnMap::uncounted(scratch, column)?, rows()?);
        let of = move |row: &ClassRow| by_class[row.class_id as usize];
        Ok(Source::values(move |count| Ok(sizes(rows(count)?.iter().map(&of).collect()))))
    };
    Ok(vec![
        Source::values(move |count| Ok(array::<UInt32Type>(ids(count)?.iter().map(|row| row.class_id).collect()))),
        Source::texts(Texts::Table(strings), move |count| Ok(named(count)?.iter().map(position).collect())),
        Source::texts(Texts::Table(keys), move |count| Ok(keyed(count)?.iter().map(|row| row.class_id).collect())),
        bytes(|row| row.count)?,
        bytes(|row| row.self_bytes)?,
        bytes(|row| row.shallow_bytes)?,
        if metadata.has_native { bytes(native)? } else { Source::nothing() },
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
