//! Tables of a run, read back batch by batch.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{ArrowPrimitiveType, TimestampMicrosecondType, UInt32Type, UInt64Type};
use heaplake_kit::StageError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A table that is being read.
pub struct Reader {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
}

/// Some of its rows.
pub struct Batch {
    path: PathBuf,
    rows: RecordBatch,
}

impl Reader {
    /// Opens `RUN/FILE`.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn open(run: &Path, file: &str) -> Result<Self, StageError> {
        let path = run.join(file);
        let input = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let failed = |error| StageError::io(&path, "read", io::Error::other(error));
        let batches = ParquetRecordBatchReaderBuilder::try_new(input).map_err(failed)?;
        let batches = batches.with_batch_size(1 << 14).build().map_err(failed)?;
        Ok(Self { path, batches })
    }

    /// The next rows; nothing at the end.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn batch(&mut self) -> Result<Option<Batch>, StageError> {
        match self.batches.next() {
            None => Ok(None),
            Some(Ok(rows)) => Ok(Some(Batch { path: self.path.clone(), rows })),
            Some(Err(error)) => Err(StageError::io(&self.path, "read", io::Error::other(error))),
        }
    }
}

impl Batch {
    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, StageError> {
        self.rows.column_by_name(name).ok_or_else(|| self.wrong(name))
    }

    fn wrong(&self, name: &str) -> StageError {
        StageError::io(&self.path, "read", io::Error::other(format!("no column {name} of the right type")))
    }

    fn numbers<P: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<Option<P::Native>>, StageError> {
        let column = self.column(name)?.as_primitive_opt::<P>().ok_or_else(|| self.wrong(name))?;
        Ok(column.iter().collect())
    }

    /// Numbers of 32 bits.
    ///
    /// # Errors
    /// [`StageError::Io`] where there is no such column.
    pub fn u32s(&self, name: &str) -> Result<Vec<Option<u32>>, StageError> {
        self.numbers::<UInt32Type>(name)
    }

    /// Numbers of 64 bits.
    ///
    /// # Errors
    /// As [`Self::u32s`].
    pub fn u64s(&self, name: &str) -> Result<Vec<Option<u64>>, StageError> {
        self.numbers::<UInt64Type>(name)
    }

    /// Microseconds since 1970.
    ///
    /// # Errors
    /// As [`Self::u32s`].
    pub fn times(&self, name: &str) -> Result<Vec<Option<i64>>, StageError> {
        self.numbers::<TimestampMicrosecondType>(name)
    }

    /// Texts.
    ///
    /// # Errors
    /// As [`Self::u32s`].
    pub fn texts(&self, name: &str) -> Result<Vec<Option<String>>, StageError> {
        let column = self.column(name)?.as_string_opt::<i32>().ok_or_else(|| self.wrong(name))?;
        Ok((0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row).to_owned())).collect())
    }
}
