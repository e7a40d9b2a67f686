//! Old objects of a Java recording on the page. Texts are indices into [`Texts`].
//!
//! Objects with a holder come first, then the oldest, then the largest.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::old_objects::TABLE;
use serde::Serialize;
use std::cmp::Ordering;
use std::path::Path;

/// Maximum objects shown.
const OBJECTS: usize = 300;
/// Maximum bytes of a path's text.
const LONGEST: usize = 2000;

const COLUMNS: [&str; 15] = [
    "sample",
    "type_id",
    "type",
    "age_seconds",
    "bytes",
    "array_elements",
    "thread",
    "function",
    "description",
    "root_system",
    "root_type",
    "root_description",
    "path",
    "chain_length",
    "chain_cut",
];

/// An object sampled at its allocation and alive later.
#[derive(Serialize)]
pub struct OldObject {
    sample: u32,
    type_id: u32,
    name: u32,
    /// Seconds.
    age: Option<f64>,
    bytes: Option<u64>,
    /// Elements of an array.
    elements: Option<u64>,
    thread: Option<u32>,
    /// The function that allocated it.
    function: Option<u32>,
    description: Option<u32>,
    /// System, kind and description of the root.
    root: [Option<u32>; 3],
    /// From the root to the object.
    path: Option<u32>,
    /// Length of the chain of holders.
    length: u64,
    /// Whether the recorded chain is incomplete.
    cut: bool,
}

/// Sort key.
#[derive(Clone, Copy)]
struct Key {
    row: u32,
    held: bool,
    age: f64,
    bytes: u64,
}

impl Key {
    fn order(&self, other: &Self) -> Ordering {
        let by_age = || other.age.total_cmp(&self.age);
        let by_size = || other.bytes.cmp(&self.bytes).then(self.row.cmp(&other.row));
        other.held.cmp(&self.held).then_with(by_age).then_with(by_size)
    }
}

/// Reads the first objects; `None` if the run has no such table.
pub fn read(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<OldObject>>, StageError> {
    let file = folder.join(TABLE.file);
    let Some(reader) = Reader::open_if_present(&file)? else { return Ok(None) };
    let of = reader.rows();
    let ranked = first(reader)?;
    let mut rows: Vec<u32> = ranked.iter().map(|key| key.row).collect();
    rows.sort_unstable();
    let mut batches = Reader::open(&file)?.only(&rows)?.columns(&COLUMNS)?;
    let mut objects = Vec::with_capacity(rows.len());
    while let Some(batch) = batches.batch()? {
        for at in 0..batch.len() {
            objects.push(object(&batch, at, texts)?);
        }
    }
    let mut numbered: Vec<(u32, OldObject)> = rows.into_iter().zip(objects).collect();
    numbered.sort_by_key(|(row, _)| ranked.iter().position(|key| key.row == *row));
    Ok(Some(Shown { of, rows: numbered.into_iter().map(|(_, object)| object).collect() }))
}

/// The first rows, in rank order.
fn first(reader: Reader) -> Result<Vec<Key>, StageError> {
    let mut batches = reader.columns(&["age_seconds", "bytes", "path"])?;
    let (mut keys, mut row): (Vec<Key>, u32) = (Vec::new(), 0);
    while let Some(batch) = batches.batch()? {
        let (ages, bytes, paths) = (batch.f64s("age_seconds")?, batch.sizes("bytes")?, batch.texts("path")?);
        for at in 0..batch.len() {
            let (held, age) = (value(paths, at).is_some(), value(ages, at).unwrap_or(-1.0));
            let key = Key { row, held, age, bytes: value(&bytes, at).unwrap_or(0) };
            let place = keys.partition_point(|other| other.order(&key).is_lt());
            if place < OBJECTS {
                keys.insert(place, key);
                keys.truncate(OBJECTS);
            }
            row = row.saturating_add(1);
        }
    }
    Ok(keys)
}

fn object(rows: &Batch, at: usize, texts: &mut Texts) -> Result<OldObject, StageError> {
    let number = |column: &str| rows.sizes(column).map(|column| value(&column, at));
    let mut named = |column: &str, most: usize| {
        rows.texts(column).map(|column| value(column, at).map(|text| texts.add_within(text, most)))
    };
    let root = [named("root_system", 80)?, named("root_type", 80)?, named("root_description", 200)?];
    let (thread, function) = (named("thread", 80)?, named("function", 200)?);
    let (description, path) = (named("description", 200)?, named("path", LONGEST)?);
    Ok(OldObject {
        sample: rows.u32s("sample")?.value(at),
        type_id: rows.u32s("type_id")?.value(at),
        name: texts.add(rows.texts("type")?.value(at)),
        age: value(rows.f64s("age_seconds")?, at),
        bytes: number("bytes")?,
        elements: number("array_elements")?,
        thread,
        function,
        description,
        root,
        path,
        length: number("chain_length")?.unwrap_or(0),
        cut: rows.flags("chain_cut")?.value(at),
    })
}
