//! What takes the rows of an answer.

use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

/// Takes the rows of one answer.
pub trait Writer {
    /// Says which columns come.
    ///
    /// # Errors
    /// [`SqlError`] where they cannot be written.
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError>;

    /// Takes some rows; whether more are wanted.
    ///
    /// # Errors
    /// [`SqlError`] where they cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError>;

    /// Writes what is left.
    ///
    /// # Errors
    /// [`SqlError`] where it cannot be written.
    fn end(&mut self) -> Result<(), SqlError>;
}

/// An answer that cannot be written.
pub(crate) fn unwritten(error: &std::io::Error) -> SqlError {
    SqlError::file(format!("the answer cannot be written: {error}"), "check the disk, or the program that reads it")
}
