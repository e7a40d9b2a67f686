//! Writes packs, and tables of runs from packs.

use crate::packs::{Content, Member, Pack, Slice, converted, signed};
use crate::reader::{Batches, Reader, damaged};
use crate::table::Table;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::metadata;
use heaplake_schemas::run;
use heaplake_schemas::table::{RUN_COLUMNS, TableSchema};
use std::iter::repeat_n;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group, unless their columns take more than [`group_bytes`]. A dictionary holds equal texts of all runs
/// of a group once.
const GROUP_ROWS: usize = 1 << 19;
/// Rows of a page: the unit that a reader of one run decodes, and within which alike rows compress.
const PAGE_ROWS: usize = 16 << 10;

/// Bytes of the columns of a row group of an unpacked table.
const UNPACKED_BYTES: usize = 16 << 20;

/// Bytes of the columns of a row group: they are copied once, and encoded.
fn group_bytes(context: &Context<'_>) -> usize {
    let share = context.budget.limit() / (8 * context.threads.max(1) as u64);
    share.clamp(2 << 20, 64 << 20) as usize
}

/// The rows of a run, for a pack.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Name of the run.
    pub snapshot: String,
    /// Release of the run.
    pub release: String,
    /// Seal of its description.
    pub seal: String,
    /// Where the rows are.
    pub rows: Rows,
}

/// Where the rows of a run are.
#[derive(Clone, Debug)]
pub(crate) enum Rows {
    /// In the file of its table.
    File(PathBuf),
    /// In a pack.
    Pack(Slice),
}

/// Rows that wait to be a row group.
struct Group {
    columns: Vec<Vec<ArrayRef>>,
    rows: usize,
    bytes: usize,
}

/// Writes a pack of the table in `file` into `folder`: the parts in order of their names, with the columns of
/// [`schema_of`]. Then reads it, and compares each row with its source.
///
/// # Errors
/// [`StageError::Table`] if a part is damaged or lacks a column, or the rows differ.
///
/// # Returns
/// Bytes of the file.
///
/// # Cost
/// Three passes over the rows; memory of about three times the columns of a row group, see [`group_bytes`].
pub(crate) fn write(
    folder: &Path,
    (file, originals): (&'static str, &SchemaRef),
    parts: &[Part],
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let (schema, unsigned) = signed(originals);
    let mut written = Table::of_many_runs(folder, file, Arc::clone(&schema), PAGE_ROWS)?;
    let (mut group, most_bytes) = (Group::new(schema.fields().len()), group_bytes(context));
    let mut content = Content { table: file.to_owned(), runs: Vec::with_capacity(parts.len()), unsigned };
    for part in parts {
        context.step(1)?;
        let mut rows = 0;
        let mut batches = part.batches(originals)?;
        while let Some(batch) = batches.record_batch()? {
            rows += batch.num_rows() as u64;
            group.add(part, &batch, &schema)?;
            if group.is_full(most_bytes) {
                group.write(&mut written, folder)?;
            }
        }
        content.runs.push(Member { snapshot: part.snapshot.clone(), seal: part.seal.clone(), rows });
    }
    group.write(&mut written, folder)?;
    let text = serde_json::to_string(&content).map_err(|error| damaged(folder, error))?;
    written.describe(metadata::RUNS, text);
    let bytes = written.finish()?.bytes;
    compare(&folder.join(file), originals, parts, context)?;
    Ok(bytes)
}

/// Writes the rows of a run in a pack into `folder`, as the table of a run. Its bytes may differ from those of the file
/// that was packed; its rows do not.
pub(crate) fn unpack(slice: &Slice, table: &TableSchema, folder: &Path) -> Result<run::Table, StageError> {
    let schema = table.schema();
    let mut written = Table::of_many_runs(folder, table.file, Arc::clone(&schema), PAGE_ROWS)?;
    let mut group = Group::new(schema.fields().len());
    let (snapshot, seal, release) = (String::new(), String::new(), String::new());
    let part = Part { snapshot, release, seal, rows: Rows::Pack(slice.clone()) };
    let mut batches = part.batches(&schema)?;
    while let Some(batch) = batches.record_batch()? {
        group.add(&part, &batch, &schema)?;
        if group.is_full(UNPACKED_BYTES) {
            group.write(&mut written, folder)?;
        }
    }
    group.write(&mut written, folder)?;
    written.finish()
}

/// The columns of a pack, with their original types: every table says of which run a row is.
pub(crate) fn schema_of(table: &TableSchema) -> SchemaRef {
    let schema = table.schema();
    if table.names_run {
        return schema;
    }
    let of_run = RUN_COLUMNS.iter().map(|column| Arc::new(column.field()));
    Arc::new(Schema::new(of_run.chain(schema.fields().iter().cloned()).collect::<Fields>()))
}

impl Part {
    /// Reads the columns of a pack that the source has: a table of a run may lack those of the run.
    fn batches(&self, schema: &Schema) -> Result<Batches, StageError> {
        let reader = match &self.rows {
            Rows::File(path) => Reader::open(path)?,
            Rows::Pack(slice) => Reader::of_slice(slice),
        };
        let mut columns = names(schema);
        columns.retain(|name| reader.has(name));
        reader.columns(&columns)
    }
}

impl Group {
    /// Adds rows of a run.
    fn add(&mut self, part: &Part, batch: &RecordBatch, schema: &Schema) -> Result<(), StageError> {
        let of_run = |name: &str| match name {
            "release" => Some(&part.release),
            "snapshot" => Some(&part.snapshot),
            _ => None,
        };
        let rows = batch.num_rows();
        for (field, columns) in schema.fields().iter().zip(&mut self.columns) {
            let column: ArrayRef = match (batch.column_by_name(field.name()), of_run(field.name())) {
                (Some(column), _) => Arc::clone(column),
                (None, Some(text)) => Arc::new(StringArray::from_iter_values(repeat_n(text, rows))),
                (None, None) => return Err(part.damaged(format!("there is no column {}", field.name()))),
            };
            let column = converted(&column, field.data_type()).map_err(|error| part.damaged(error.to_string()))?;
            self.bytes += column.get_array_memory_size();
            columns.push(column);
        }
        self.rows += rows;
        Ok(())
    }

    fn new(columns: usize) -> Self {
        Self { columns: vec![Vec::new(); columns], rows: 0, bytes: 0 }
    }

    fn is_full(&self, most_bytes: usize) -> bool {
        self.rows >= GROUP_ROWS || self.bytes >= most_bytes
    }

    /// Writes the rows as a row group.
    fn write(&mut self, table: &mut Table, folder: &Path) -> Result<(), StageError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut whole = Vec::with_capacity(self.columns.len());
        for columns in &mut self.columns {
            let parts: Vec<&dyn arrow::array::Array> = columns.iter().map(AsRef::as_ref).collect();
            whole.push(concat(&parts).map_err(|error| damaged(folder, error))?);
            columns.clear();
        }
        (self.rows, self.bytes) = (0, 0);
        table.write(&whole)
    }
}

impl Part {
    fn damaged(&self, problem: String) -> StageError {
        match &self.rows {
            Rows::File(path) => damaged(path, problem),
            Rows::Pack(slice) => damaged(slice.pack().path(), problem),
        }
    }
}

/// Compares the rows of a pack with those of its parts.
fn compare(path: &Path, schema: &Schema, parts: &[Part], context: &Context<'_>) -> Result<(), StageError> {
    let pack = Arc::new(Pack::open(path).map_err(|error| StageError::io(path, "read", error))?);
    for part in parts {
        context.step(1)?;
        let differs = || damaged(path, format!("the rows of {} differ from its table", part.snapshot));
        let slice = pack.slice(&part.snapshot, &part.seal).ok_or_else(differs)?;
        let (mut ours, mut theirs) = (Reader::of_slice(&slice).columns(&names(schema))?, part.batches(schema)?);
        loop {
            match (ours.record_batch()?, theirs.record_batch()?) {
                (None, None) => break,
                (Some(one), Some(other)) if is_same(&one, &other) => {}
                _ => return Err(differs()),
            }
        }
    }
    Ok(())
}

/// Whether a table has these columns, in this order, of these types.
pub(crate) fn is_like(found: &Schema, wanted: &Schema) -> bool {
    let columns = |schema: &Schema| -> Vec<(String, String)> {
        schema.fields().iter().map(|field| (field.name().clone(), in_short(field.data_type()))).collect()
    };
    columns(found) == columns(wanted)
}

/// Type as text, without the names of list elements and their nullability, which a file does not keep.
fn in_short(kind: &DataType) -> String {
    match kind {
        DataType::List(element) => format!("list of {}", in_short(element.data_type())),
        DataType::Struct(fields) => {
            let field = |field: &FieldRef| format!("{}: {}", field.name(), in_short(field.data_type()));
            format!("struct of {:?}", fields.iter().map(field).collect::<Vec<_>>())
        }
        leaf => leaf.to_string(),
    }
}

/// Whether all columns of the source are equal in the pack.
fn is_same(ours: &RecordBatch, source: &RecordBatch) -> bool {
    let schema = source.schema();
    let mut columns = schema.fields().iter().zip(source.columns());
    ours.num_rows() == source.num_rows()
        && columns.all(|(field, column)| ours.column_by_name(field.name()).is_some_and(|ours| ours == column))
}

/// Names of columns.
pub(crate) fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}
