//! Sink of the rows of an answer.

use crate::error::{Kind, SqlError, is_full};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

/// Receives the rows of one answer.
pub trait Writer {
    /// Receives the columns, before any row.
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError>;

    /// Receives some rows; returns whether more are wanted.
    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError>;

    /// Finishes the answer.
    fn end(&mut self) -> Result<(), SqlError>;
}

/// Error for an answer that cannot be written.
pub(crate) fn unwritten(error: &std::io::Error) -> SqlError {
    let kind = if is_full(error) { Kind::Resources } else { Kind::File };
    let error = SqlError::file(
        format!("the answer cannot be written: {error}"),
        "check the disk, or the program that reads it",
    );
    SqlError { kind, ..error }
}
