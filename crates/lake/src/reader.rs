//! Reads tables of runs in batches.
//!
//! A [`Reader`] is an open table with a number of rows and columns. [`first`](Reader::first) and [`only`](Reader::only)
//! restrict it to some rows; [`columns`](Reader::columns) starts to read. A [`Batch`] returns columns by name and type,
//! and [`value`] returns a nullable element.
//!
//! A table may be damaged, or foreign. Every error names the file, and the column or the row if known; no content of a
//! file causes a panic here.

use crate::batch::no_column;
pub use crate::batch::{Batch, damaged};
pub use crate::cells::{Distinct, Flags, Numbers, Texts, value};

use crate::guarded::guarded;
use crate::listed::Unlisted;
use crate::packs::{Pack, Slice};
use crate::parquet_file::ParquetFile;
use crate::stored::{self, Opening};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
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
    /// To read the table again: its pages verified, its metadata decoded.
    own: ParquetFile,
    metadata: ArrowReaderMetadata,
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
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(own.clone(), metadata.clone());
        let builder = builder.with_batch_size(BATCH);
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self { path: path.into(), file, rows: 0..rows, pack: None, whole: true, builder, own, metadata })
    }

    /// Opens the rows of a run in a pack.
    pub(crate) fn of_slice(slice: &Slice) -> Self {
        Self::of_slice_at(slice, slice.pack().path())
    }

    /// As [`Self::of_slice`], named by a path in messages.
    fn of_slice_at(slice: &Slice, path: &Path) -> Self {
        let (file, metadata) = slice.pack().reading();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone());
        let builder = builder.with_batch_size(BATCH);
        let (rows, pack, own) = (slice.rows(), Some(Arc::clone(slice.pack())), file.clone());
        Self { path: path.into(), file, rows, pack, whole: true, builder, own, metadata }.all()
    }

    /// Opens an optional table; `None` if the file does not exist.
    pub fn open_if_present(path: &Path) -> Result<Option<Self>, StageError> {
        match Self::open(path) {
            Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            reader => reader.map(Some),
        }
    }

    /// What another reader of the open table needs.
    pub(crate) fn parts(self) -> Parts {
        let Self { path, rows, pack, own, metadata, .. } = self;
        Parts { path, rows, pack, own, metadata }
    }

    /// A reader of all rows of an open table. Costs no access to the file.
    pub(crate) fn of_parts(parts: Parts) -> Self {
        let Parts { path, rows, pack, own, metadata } = parts;
        let file = own.anew();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone());
        let builder = builder.with_batch_size(BATCH);
        Self { path, file, rows, pack, whole: true, builder, own, metadata }.all()
    }

    /// Sets the number of rows of a batch.
    #[must_use]
    pub fn in_batches_of(self, rows: usize) -> Self {
        Self { builder: self.builder.with_batch_size(rows.max(1)), ..self }
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

/// An open table. Unlike a [`Reader`], threads may share it.
#[derive(Clone)]
pub(crate) struct Parts {
    pub path: Arc<Path>,
    /// Rows of the file that belong to the table.
    pub rows: Range<u64>,
    pub pack: Option<Arc<Pack>>,
    pub own: ParquetFile,
    pub metadata: ArrowReaderMetadata,
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
        Ok(rows.map(|rows| Batch::new(Arc::clone(&self.path), rows, first_row)))
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

#[cfg(test)]
mod tests;
