//! What takes the rows of an answer.

use crate::error::{Kind, SqlError, is_full};
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
    let kind = if is_full(error) { Kind::Resources } else { Kind::File };
    let error = SqlError::file(
        format!("the answer cannot be written: {error}"),
        "check the disk, or the program that reads it",
    );
    SqlError { kind, ..error }
}
