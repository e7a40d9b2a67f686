//! The table of a scan, and the columns of its result.

use crate::lake::{Lake, RUN_COLUMNS};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{cast, take};
use arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use object_store::ObjectStore;
use std::sync::Arc;

/// The table of a scan.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// The lake.
    pub lake: Arc<Lake>,
    /// File name of the table.
    pub file: &'static str,
    /// Columns of the result.
    pub schema: SchemaRef,
    /// The store of a lake in an object store.
    pub store: Option<Arc<dyn ObjectStore>>,
}

/// A part of an item: of a file its row groups `part / of` to `(part + 1) / of`, of a pack its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Number of the item.
    pub item: u32,
    /// Which part.
    pub part: u16,
    /// Number of parts.
    pub of: u16,
}

/// Whether a column is one of the run.
pub(crate) fn is_of_run(name: &str) -> bool {
    RUN_COLUMNS.iter().any(|(column, _)| *column == name)
}

/// A column of the run of each row.
fn of_run(lake: &Lake, runs: &UInt32Array, name: &str) -> Result<ArrayRef> {
    let column = lake.columns().column_by_name(name);
    let column = column.ok_or_else(|| DataFusionError::Internal(format!("{name} is no column of a run")))?;
    Ok(take(column, runs, None)?)
}

/// The columns of the result: those of the file, in the type of the view; nulls for those that it lacks, as files of
/// older versions may; those of the run of each row.
pub(crate) fn adapted(lake: &Lake, runs: &UInt32Array, schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = runs.len();
    let column = |field: &FieldRef| {
        if is_of_run(field.name()) {
            return of_run(lake, runs, field.name());
        }
        Ok(match batch.column_by_name(field.name()) {
            Some(column) => cast(column, field.data_type())?,
            None => new_null_array(field.data_type(), rows),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
