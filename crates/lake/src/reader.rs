//! Reads tables of runs in batches.
//!
//! A [`Reader`] is an open table with a number of rows and columns. [`first`](Reader::first) and [`only`](Reader::only)
//! restrict it to some rows; [`columns`](Reader::columns) starts to read. A [`Batch`] returns columns by name and type,
//! and [`value`] returns a nullable element.
//!
//! A table may be damaged, or foreign. Every error names the file, and the column or the row if known; no content of a
//! file causes a panic here.

use crate::guarded::guarded;
use crate::listed::Unlisted;
use crate::packs::{Pack, Slice};
use crate::parquet_file::ParquetFile;
use crate::stored::{self, Opening};
use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, MapArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, Schema, TimestampMicrosecondType, UInt8Type, UInt32Type, UInt64Type,
};
use heaplake_kit::StageError;
use heaplake_schemas::metadata;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelector,
};
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData};
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows per batch when a table is read sequentially.
const BATCH: usize = 8 << 10;
/// Rows per batch when selected rows are read: a text may take a megabyte.
const FEW: usize = 16;

/// An open table.
pub struct Reader {
    path: Arc<Path>,
    file: ParquetFile,
    /// Rows of the file that belong to the table: all, or those of a run in a pack.
    rows: Range<u64>,
    /// The pack.
    pack: Option<Arc<Pack>>,
    /// True if all rows are read.
    whole: bool,
    builder: ParquetRecordBatchReaderBuilder<ParquetFile>,
}

impl Reader {
    /// Opens a table.
    pub fn open(path: &Path) -> Result<Self, StageError> {
        let opened = stored::table(path).and_then(|opened| match opened {
            Opening::File(file, end) => Ok((ParquetFile::new(file)?.with_end(end), None)),
            Opening::Pack(slice) => Ok((slice.pack().reading().0, Some(slice))),
        });
        let (file, slice) = opened.map_err(|error| match Unlisted::of(&error) {
            Some(unlisted) => damaged(path, unlisted),
            None => StageError::io(path, "read", error),
        })?;
        if let Some(slice) = slice {
            return Ok(Self::of_slice_at(&slice, path));
        }
        // The page index locates selected rows without decoding those before them.
        // Types are those of Parquet: Arrow's own schema, which writers add, has no further information for our tables,
        // and its decoder panics if it is damaged.
        let options = ArrowReaderOptions::new()
            .with_offset_index_policy(PageIndexPolicy::Optional)
            .with_skip_arrow_metadata(true);
        let (own, checked) = file.clone().checked().map_err(|error| failed(path, &file, error))?;
        let metadata = guarded(path, || ArrowReaderMetadata::try_new(Arc::clone(checked.metadata()), options))?;
        let metadata = metadata.map_err(|error| failed(path, &file, error))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(own, metadata).with_batch_size(BATCH);
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self { path: path.into(), file, rows: 0..rows, pack: None, whole: true, builder })
    }

    /// Opens the rows of a run in a pack.
    pub(crate) fn of_slice(slice: &Slice) -> Self {
        Self::of_slice_at(slice, slice.pack().path())
    }

    /// As [`Self::of_slice`], named by a path in messages.
    fn of_slice_at(slice: &Slice, path: &Path) -> Self {
        let (file, metadata) = slice.pack().reading();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata);
        let (rows, pack) = (slice.rows(), Some(Arc::clone(slice.pack())));
        Self { path: path.into(), file, rows, pack, whole: true, builder: builder.with_batch_size(BATCH) }.all()
    }

    /// Opens an optional table; `None` if the file does not exist.
    pub fn open_if_present(path: &Path) -> Result<Option<Self>, StageError> {
        match Self::open(path) {
            Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            reader => reader.map(Some),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// Schema version recorded in the table, if any.
    pub fn schema_version(&self) -> Option<u32> {
        let values = self.builder.metadata().file_metadata().key_value_metadata()?;
        values.iter().find(|entry| entry.key == metadata::SCHEMA)?.value.as_ref()?.parse().ok()
    }

    /// The columns.
    pub(crate) fn schema(&self) -> &Schema {
        self.builder.schema()
    }

    /// True if the table has this column.
    pub fn has(&self, column: &str) -> bool {
        self.builder.schema().column_with_name(column).is_some()
    }

    /// Makes batches consist of whole groups of `size` rows.
    ///
    /// # Errors
    /// [`StageError::Table`] if the rows are not a whole number of groups.
    pub fn in_groups(self, size: usize) -> Result<Self, StageError> {
        if !self.rows().is_multiple_of(size as u64) {
            return Err(damaged(&self.path, format!("expected groups of {size} rows, found {} rows", self.rows())));
        }
        let builder = self.builder.with_batch_size(BATCH.max(size) / size * size);
        Ok(Self { builder, ..self })
    }

    /// Makes one batch of all rows, for a table that fits into memory.
    #[must_use]
    pub(crate) fn in_one_batch(self) -> Self {
        let rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        Self { builder: self.builder.with_batch_size(rows.max(1)), ..self }
    }

    /// Restricts the reader to the rows of a run in a pack.
    fn all(self) -> Self {
        match self.pack {
            Some(_) => self.from_row(0, u64::MAX),
            None => self,
        }
    }

    /// Restricts the reader to the first `most` rows.
    #[must_use]
    pub fn first(self, most: u64) -> Self {
        let reader = self.from_row(0, most);
        Self { builder: reader.builder.with_batch_size(FEW), ..reader }
    }

    /// Restricts the reader to these rows, ascending and distinct.
    ///
    /// # Errors
    /// [`StageError::Table`] if the table has fewer rows.
    pub fn only(self, rows: &[u32]) -> Result<Self, StageError> {
        let total = self.rows();
        if let Some(beyond) = rows.iter().find(|&&row| u64::from(row) >= total) {
            return Err(damaged(&self.path, format!("expected a row {beyond}, found {total} rows")));
        }
        let mut selectors = Vec::with_capacity(2 * rows.len());
        let (mut next, before) = (0, usize::try_from(self.rows.start).unwrap_or(usize::MAX));
        for &row in rows {
            let row = before.saturating_add(row as usize);
            selectors.push(RowSelector::skip(row.saturating_sub(next)));
            selectors.push(RowSelector::select(1));
            next = row + 1;
        }
        let total = usize::try_from(self.rows.end).unwrap_or(usize::MAX);
        let builder = self.builder.with_offset(0).with_limit(total);
        let builder = builder.with_row_selection(RowSelection::from(selectors)).with_batch_size(FEW);
        Ok(Self { whole: false, builder, ..self })
    }

    /// Restricts the reader to `most` rows from `first` on. Skips preceding row groups.
    #[must_use]
    pub fn from_row(self, first: u64, most: u64) -> Self {
        let total = self.rows();
        let (first, most) = (self.rows.start.saturating_add(first.min(total)), most.min(total.saturating_sub(first)));
        let [first, most] = [first, most].map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        let builder = self.builder.with_offset(first).with_limit(most);
        Self { whole: false, builder, ..self }
    }

    /// Starts to read these columns.
    ///
    /// # Errors
    /// [`StageError::Table`] if one is missing.
    pub fn columns(self, columns: &[&str]) -> Result<Batches, StageError> {
        if let Some(missing) = columns.iter().find(|name| !self.has(name)) {
            return Err(no_column(&self.path, missing));
        }
        let Self { path, file, pack, whole, builder, .. } = self;
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        if whole {
            file.will_read(parts(builder.metadata(), &mask));
        }
        let reader = guarded(&path, || builder.with_projection(mask).build())?;
        let reader = reader.map_err(|error| failed(&path, &file, error))?;
        Ok(Batches { path, file, pack, reader, read: 0 })
    }
}

/// Reads some columns of a table sequentially.
pub struct Batches {
    path: Arc<Path>,
    file: ParquetFile,
    /// The pack, whose rows have other types.
    pack: Option<Arc<Pack>>,
    reader: ParquetRecordBatchReader,
    /// Number of rows read.
    read: u64,
}

impl Batches {
    /// Returns the next rows; `None` at the end.
    pub fn batch(&mut self) -> Result<Option<Batch>, StageError> {
        let first_row = self.read;
        let rows = self.record_batch()?;
        Ok(rows.map(|rows| Batch { path: Arc::clone(&self.path), within: None, rows, first_row }))
    }

    /// Returns the next rows as Arrow has them; `None` at the end.
    pub(crate) fn record_batch(&mut self) -> Result<Option<RecordBatch>, StageError> {
        let Some(rows) = guarded(&self.path, || self.reader.next())? else { return Ok(None) };
        let failed = |error| failed(&self.path, &self.file, format!("after {} rows: {error}", self.read));
        let rows = rows.and_then(|rows| match &self.pack {
            Some(pack) => pack.restored(&rows),
            None => Ok(rows),
        });
        let rows = rows.map_err(failed)?;
        self.read += rows.num_rows() as u64;
        Ok(Some(rows))
    }
}

/// Rows with columns by name. Access by a wrong name or type returns [`StageError::Table`].
pub struct Batch {
    path: Arc<Path>,
    /// The list column whose elements are the rows.
    within: Option<String>,
    rows: RecordBatch,
    first_row: u64,
}

/// A column of a batch.
type Column<'a, T> = Result<&'a PrimitiveArray<T>, StageError>;

impl Batch {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the rows have this column.
    pub fn has(&self, column: &str) -> bool {
        self.rows.column_by_name(column).is_some()
    }

    /// Number of rows read before these: the index of the first row if all rows are read.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// A column of 8-bit numbers.
    pub fn u8s(&self, name: &str) -> Column<'_, UInt8Type> {
        self.primitives(name)
    }

    /// A column of 32-bit numbers: ids and ordinals.
    pub fn u32s(&self, name: &str) -> Column<'_, UInt32Type> {
        self.primitives(name)
    }

    /// A column of counts and sizes; unsigned in tables of schema version 1.
    ///
    /// # Errors
    /// [`StageError::Table`], also for a negative number.
    pub fn sizes(&self, name: &str) -> Result<PrimitiveArray<UInt64Type>, StageError> {
        let column = self.column(name)?;
        if let Some(unsigned) = column.as_primitive_opt::<UInt64Type>() {
            return Ok(unsigned.clone());
        }
        if let Some(narrow) = column.as_primitive_opt::<UInt32Type>() {
            return Ok(narrow.unary(u64::from));
        }
        let signed: &PrimitiveArray<Int64Type> = self.primitives(name)?;
        if let Some(negative) = signed.iter().flatten().find(|&number| number < 0) {
            let problem = format!("column {}: expected a count or a size, found {negative}", self.full(name));
            return Err(damaged(&self.path, problem));
        }
        Ok(PrimitiveArray::new(signed.values().inner().clone().into(), signed.nulls().cloned()))
    }

    /// A column of 64-bit numbers: ids and addresses.
    pub fn u64s(&self, name: &str) -> Column<'_, UInt64Type> {
        self.primitives(name)
    }

    /// A column of signed 32-bit numbers: distances.
    pub fn i32s(&self, name: &str) -> Column<'_, Int32Type> {
        self.primitives(name)
    }

    /// A column of signed 64-bit numbers: differences.
    pub fn i64s(&self, name: &str) -> Column<'_, Int64Type> {
        self.primitives(name)
    }

    /// A column of fractions.
    pub fn f64s(&self, name: &str) -> Column<'_, Float64Type> {
        self.primitives(name)
    }

    /// A column of microseconds since 1970.
    pub fn times(&self, name: &str) -> Column<'_, TimestampMicrosecondType> {
        self.primitives(name)
    }

    /// A column of texts.
    pub fn texts(&self, name: &str) -> Result<&StringArray, StageError> {
        let column = self.column(name)?;
        column.as_string_opt().ok_or_else(|| self.mistyped(name, &DataType::Utf8, column))
    }

    /// A column of flags.
    pub fn flags(&self, name: &str) -> Result<&BooleanArray, StageError> {
        let column = self.column(name)?;
        column.as_boolean_opt().ok_or_else(|| self.mistyped(name, &DataType::Boolean, column))
    }

    /// A column of maps from text to text.
    pub fn maps(&self, name: &str) -> Result<&MapArray, StageError> {
        let column = self.column(name)?;
        column.as_map_opt().ok_or_else(|| self.mistyped(name, &"a map", column))
    }

    /// Returns a row's list of texts; empty if null.
    pub fn list_of_texts(&self, name: &str, row: usize) -> Result<Vec<String>, StageError> {
        let column = self.column(name)?;
        let mistyped = || self.mistyped(name, &"a list of texts", column);
        let list = column.as_list_opt::<i32>().ok_or_else(mistyped)?;
        let Some(values) = value(list, row) else { return Ok(Vec::new()) };
        let texts = values.as_string_opt::<i32>().ok_or_else(mistyped)?;
        Ok(texts.iter().flatten().map(str::to_owned).collect())
    }

    /// Returns a row's list of structs as a batch: each element is a row, each field a column.
    pub fn elements(&self, name: &str, row: usize) -> Result<Self, StageError> {
        let column = self.column(name)?;
        let list = column.as_list_opt::<i32>().map(|list| list.value(row));
        let structs = list.as_ref().and_then(|list| list.as_struct_opt());
        let structs = structs.ok_or_else(|| self.mistyped(name, &"a list of structs", column))?;
        let schema = Arc::new(Schema::new(structs.fields().clone()));
        let options = RecordBatchOptions::new().with_row_count(Some(structs.len()));
        let name = self.full(name);
        let rows = RecordBatch::try_new_with_options(schema, structs.columns().to_vec(), &options)
            .map_err(|error| damaged(&self.path, format!("column {name}: {error}")))?;
        Ok(Self { path: Arc::clone(&self.path), within: Some(name), rows, first_row: 0 })
    }

    fn primitives<T: ArrowPrimitiveType>(&self, name: &str) -> Column<'_, T> {
        let column = self.column(name)?;
        column.as_primitive_opt().ok_or_else(|| self.mistyped(name, &T::DATA_TYPE, column))
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, StageError> {
        self.rows.column_by_name(name).ok_or_else(|| no_column(&self.path, &self.full(name)))
    }

    fn mistyped(&self, name: &str, wanted: &dyn Display, found: &ArrayRef) -> StageError {
        let name = self.full(name);
        damaged(&self.path, format!("column {name}: expected {wanted}, found {}", found.data_type()))
    }

    /// Qualifies a column name by that of the enclosing list.
    fn full(&self, name: &str) -> String {
        self.within.as_ref().map_or_else(|| name.to_owned(), |within| format!("{within}.{name}"))
    }
}

/// Returns element `row` of a column, unless it is null.
pub fn value<'a, A>(column: &'a A, row: usize) -> Option<<&'a A as ArrayAccessor>::Item>
where
    &'a A: ArrayAccessor,
{
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the file ranges of the columns of a mask, sorted by start.
fn parts(metadata: &ParquetMetaData, mask: &ProjectionMask) -> Vec<Range<u64>> {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
    let mut parts: Vec<_> =
        columns.filter(|(at, _)| mask.leaf_included(*at)).map(|(_, column)| range(column)).collect();
    parts.sort_by_key(|part| part.start);
    parts
}

/// Returns the file range of a column; damaged metadata may claim any.
fn range(column: &ColumnChunkMetaData) -> Range<u64> {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let [start, length] = [start, column.compressed_size()].map(|number| u64::try_from(number).unwrap_or(0));
    start..start.saturating_add(length)
}

/// Creates the error of a failed read: the store failed, or the table is damaged.
fn failed(path: &Path, file: &ParquetFile, problem: impl Display) -> StageError {
    file.failure().map_or_else(|| damaged(path, problem), |error| StageError::io(path, "read", error))
}

/// Creates the error of a damaged table, with the problem in one line.
pub fn damaged(path: &Path, problem: impl Display) -> StageError {
    StageError::Table { path: path.to_owned(), problem: problem.to_string().replace(['\n', '\r'], " ") }
}

fn no_column(path: &Path, name: &str) -> StageError {
    damaged(path, format!("there is no column {name}"))
}

#[cfg(test)]
mod tests;
