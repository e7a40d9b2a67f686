//! Columns and rows of tables, read back.

use super::{Line, Unanswered};
use crate::summary::shorten;
use arrow::array::{Array, AsArray, BooleanArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{ArrowPrimitiveType, Int32Type, UInt32Type, UInt64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::file::metadata::PageIndexPolicy;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// What is shown of a node. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    /// Row of the table.
    pub node: u32,
    /// The format's own id.
    pub id: u64,
    /// Class name.
    pub class: String,
    /// The node's own name, where it says more than the class.
    pub name: Option<String>,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size.
    pub retained_bytes: u64,
    /// Distance from a root.
    pub distance: Option<i32>,
}

impl NodeRow {
    /// `Class @id "name"`.
    #[must_use]
    pub fn label(&self) -> String {
        let class = shorten(&self.class, 60);
        match &self.name {
            None => format!("{class} @{}", self.id),
            Some(name) => format!("{class} @{} {:?}", self.id, shorten(name, 40)),
        }
    }

    /// As a line without an edge.
    #[must_use]
    pub fn line(self, depth: usize) -> Line {
        Line { node: self, edge: None, depth, more: Vec::new() }
    }
}

/// Some columns of a table.
pub struct Lines {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<File>,
}

impl Lines {
    /// Opens a table for columns in the order of its schema.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn open(path: &Path, columns: &[&str]) -> Result<Self, Unanswered> {
        let failed = |error: &dyn std::fmt::Display| Unanswered::damaged(path, error);
        let file = File::open(path).map_err(|error| failed(&error))?;
        let options = ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Optional);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
        let builder = builder.map_err(|error| failed(&error))?;
        if let Some(missing) = columns.iter().find(|name| builder.schema().field_with_name(name).is_err()) {
            return Err(failed(&format!("there is no column {missing}")));
        }
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        Ok(Self { path: path.to_owned(), builder: builder.with_projection(mask).with_batch_size(BATCH) })
    }

    /// Rows of the table.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::try_from(self.builder.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Hands every batch to `each` with the number of its first row, as long as it says so.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn each(self, mut each: impl FnMut(&RecordBatch, u32) -> Result<bool, String>) -> Result<(), Unanswered> {
        let Self { path, builder } = self;
        let mut first = 0;
        for batch in builder.build().map_err(|error| Unanswered::damaged(&path, error))? {
            let batch = batch.map_err(|error| Unanswered::damaged(&path, error))?;
            if !each(&batch, first).map_err(|error| Unanswered::damaged(&path, error))? {
                break;
            }
            first += batch.num_rows() as u32;
        }
        Ok(())
    }

    /// Only some rows: numbers, ascending, each once.
    fn only(mut self, rows: &[u32]) -> Self {
        let total = self.builder.metadata().file_metadata().num_rows() as usize;
        let ranges = rows.iter().map(|&row| row as usize..row as usize + 1);
        let selection = RowSelection::from_consecutive_ranges(ranges, total);
        self.builder = self.builder.with_row_selection(selection);
        self
    }
}

fn primitive<P: ArrowPrimitiveType>(batch: &RecordBatch, column: usize) -> Result<&PrimitiveArray<P>, String> {
    let array = batch.column(column).as_primitive_opt::<P>();
    array.ok_or_else(|| other_type(batch, column))
}

fn other_type(batch: &RecordBatch, column: usize) -> String {
    format!("column {} has another type", batch.schema().field(column).name())
}

/// A column of sizes.
pub fn u64s(batch: &RecordBatch, column: usize) -> Result<&[u64], String> {
    primitive::<UInt64Type>(batch, column).map(|array| &array.values()[..])
}

/// A column of ordinals.
pub fn u32s(batch: &RecordBatch, column: usize) -> Result<&[u32], String> {
    primitive::<UInt32Type>(batch, column).map(|array| &array.values()[..])
}

/// A column of distances.
pub fn i32s(batch: &RecordBatch, column: usize) -> Result<&PrimitiveArray<Int32Type>, String> {
    primitive::<Int32Type>(batch, column)
}

/// A column of what is or is not so.
pub fn bools(batch: &RecordBatch, column: usize) -> Result<&BooleanArray, String> {
    batch.column(column).as_boolean_opt().ok_or_else(|| other_type(batch, column))
}

/// A text, where there is one.
pub fn text(batch: &RecordBatch, column: usize, row: usize) -> Result<Option<&str>, String> {
    let array = batch.column(column).as_string_opt::<i32>();
    let array = array.ok_or_else(|| other_type(batch, column))?;
    Ok(array.is_valid(row).then(|| array.value(row)))
}

/// What is shown of these nodes.
///
/// # Errors
/// [`Unanswered`].
pub fn fetch(table: &Path, nodes: impl IntoIterator<Item = u32>) -> Result<BTreeMap<u32, NodeRow>, Unanswered> {
    let mut wanted: Vec<u32> = nodes.into_iter().collect();
    wanted.sort_unstable();
    wanted.dedup();
    const COLUMNS: [&str; 7] = ["node", "id", "class", "name", "shallow_bytes", "retained_bytes", "distance"];
    let mut found = BTreeMap::new();
    Lines::open(table, &COLUMNS)?.only(&wanted).each(|batch, _| {
        let (nodes, ids, distances) = (u32s(batch, 0)?, u64s(batch, 1)?, i32s(batch, 6)?);
        let (shallow, retained) = (u64s(batch, 4)?, u64s(batch, 5)?);
        for row in 0..batch.num_rows() {
            let class = text(batch, 2, row)?.unwrap_or_default();
            let name = text(batch, 3, row)?.filter(|name| !name.is_empty() && *name != class);
            found.insert(
                nodes[row],
                NodeRow {
                    node: nodes[row],
                    id: ids[row],
                    class: class.to_owned(),
                    name: name.map(str::to_owned),
                    shallow_bytes: shallow[row],
                    retained_bytes: retained[row],
                    distance: distances.is_valid(row).then(|| distances.value(row)),
                },
            );
        }
        Ok(true)
    })?;
    Ok(found)
}

/// The dominator of every node.
///
/// # Errors
/// [`Unanswered`].
pub fn dominators(table: &Path) -> Result<Vec<u32>, Unanswered> {
    let mut dominators = Vec::new();
    Lines::open(table, &["dominator"])?.each(|batch, _| {
        dominators.extend_from_slice(u32s(batch, 0)?);
        Ok(true)
    })?;
    match dominators.iter().find(|&&dominator| dominator as usize >= dominators.len()) {
        None => Ok(dominators),
        Some(bad) => Err(Unanswered::damaged(table, format!("dominator {bad} is no node"))),
    }
}
