//! Tables of a run, read batch by batch.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow::datatypes::DataType;
use heaplake_kit::StageError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows of a batch of numbers.
const BATCH: usize = 8 << 10;
/// Rows of a batch that has texts: a name may be a megabyte long.
const TEXT_BATCH: usize = 16;

/// A table of a run.
pub struct Reader {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<File>,
}

impl Reader {
    /// Opens a table; nothing where the run has none of that name.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Table`].
    pub fn open(folder: &Path, file: &str) -> Result<Option<Self>, StageError> {
        let path = folder.join(file);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StageError::io(&path, "read", error)),
        };
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(&path, &error))?;
        Ok(Some(Self { path, builder: builder.with_batch_size(BATCH) }))
    }

    /// Rows of the table.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.builder.metadata().file_metadata().num_rows() as u64
    }

    /// Whether there is such a column.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.builder.schema().column_with_name(column).is_some()
    }

    /// Reads these columns of the first `most` rows.
    ///
    /// # Errors
    /// [`StageError::Table`] when one is missing.
    pub fn first(mut self, columns: &[&str], most: u64) -> Result<Batches, StageError> {
        self.builder = self.builder.with_limit(usize::try_from(most).unwrap_or(usize::MAX)).with_batch_size(TEXT_BATCH);
        self.all(columns)
    }

    /// Reads these columns of certain rows, given in ascending order.
    ///
    /// # Errors
    /// [`StageError::Table`] when a column is missing.
    pub fn some(mut self, columns: &[&str], rows: &[u32]) -> Result<Batches, StageError> {
        let mut selectors = Vec::with_capacity(2 * rows.len());
        let mut at = 0;
        for &row in rows {
            let row = row as usize;
            selectors.push(RowSelector::skip(row.saturating_sub(at)));
            selectors.push(RowSelector::select(1));
            at = row + 1;
        }
        self.builder = self.builder.with_row_selection(RowSelection::from(selectors)).with_batch_size(TEXT_BATCH);
        self.all(columns)
    }

    /// Reads these columns of all rows.
    ///
    /// # Errors
    /// [`StageError::Table`] when one is missing.
    pub fn all(self, columns: &[&str]) -> Result<Batches, StageError> {
        let Self { path, builder } = self;
        if let Some(missing) = columns.iter().find(|name| builder.schema().column_with_name(name).is_none()) {
            return Err(damaged(&path, &format!("there is no column {missing}")));
        }
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let reader = builder.with_projection(mask).build().map_err(|error| damaged(&path, &error))?;
        Ok(Batches { path, reader })
    }
}

/// The batches of a table.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    /// The next one.
    ///
    /// # Errors
    /// [`StageError::Table`].
    pub fn batch(&mut self) -> Result<Option<Rows>, StageError> {
        match self.reader.next() {
            None => Ok(None),
            Some(Ok(batch)) => Ok(Some(Rows { path: self.path.clone(), batch })),
            Some(Err(error)) => Err(damaged(&self.path, &error)),
        }
    }
}

/// A batch, with its columns by name.
pub struct Rows {
    path: PathBuf,
    batch: RecordBatch,
}

impl Rows {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column as it is.
    ///
    /// # Errors
    /// [`StageError::Table`] when it is missing.
    pub fn column(&self, name: &str) -> Result<&ArrayRef, StageError> {
        self.batch.column_by_name(name).ok_or_else(|| damaged(&self.path, &format!("there is no column {name}")))
    }

    /// A column of numbers.
    ///
    /// # Errors
    /// [`StageError::Table`] when it is missing or of another type.
    pub fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&PrimitiveArray<T>, StageError> {
        let column = self.column(name)?;
        column.as_primitive_opt().ok_or_else(|| self.mistyped(name, &T::DATA_TYPE, column))
    }

    /// A column of texts.
    ///
    /// # Errors
    /// As [`Self::numbers`].
    pub fn texts(&self, name: &str) -> Result<&StringArray, StageError> {
        let column = self.column(name)?;
        column.as_string_opt().ok_or_else(|| self.mistyped(name, &DataType::Utf8, column))
    }

    /// A column of flags.
    ///
    /// # Errors
    /// As [`Self::numbers`].
    pub fn flags(&self, name: &str) -> Result<&BooleanArray, StageError> {
        let column = self.column(name)?;
        column.as_boolean_opt().ok_or_else(|| self.mistyped(name, &DataType::Boolean, column))
    }

    /// What is said of a column of the wrong type.
    #[must_use]
    pub fn mistyped(&self, name: &str, wanted: &DataType, found: &ArrayRef) -> StageError {
        damaged(&self.path, &format!("column {name}: expected {wanted}, found {}", found.data_type()))
    }
}

/// Element `row`, if it is not null.
pub fn value<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// Element `row`, if it is not null.
#[must_use]
pub fn text(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

/// A table that is not what it should be.
pub fn damaged(path: &Path, problem: &dyn Display) -> StageError {
    StageError::Table { path: path.to_owned(), problem: problem.to_string().replace(['\n', '\r'], " ") }
}
