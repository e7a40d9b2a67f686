//! Some rows of an answer in memory, as JSON.

use crate::error::SqlError;
use crate::writer::Writer;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use serde_json::Value;

/// Collects rows: leaves the first ones out, and ends the answer when it has enough.
#[derive(Debug, Default)]
pub struct Collected {
    /// Rows to leave out.
    pub skip: usize,
    /// Most rows.
    pub most: usize,
    /// Most bytes of rows as JSON; the row that exceeds them is the last.
    pub bytes: usize,
    /// Columns with their types.
    pub columns: Vec<(String, String)>,
    /// The rows, one object each.
    pub rows: Vec<Value>,
    /// Whether there are rows after these.
    pub more: bool,
    seen: usize,
}

impl Collected {
    /// Collects at most `most` rows and about `bytes` bytes after the first `skip` rows.
    #[must_use]
    pub fn new(skip: usize, most: usize, bytes: usize) -> Self {
        Self { skip, most, bytes, ..Self::default() }
    }

    /// Adds the rows of a batch; returns whether more are wanted.
    fn add(&mut self, batch: &RecordBatch) -> Result<bool, ArrowError> {
        for at in 0..batch.num_rows() {
            if self.seen < self.skip {
                self.seen += 1;
                continue;
            }
            if self.rows.len() >= self.most || self.bytes == 0 {
                self.more = true;
                return Ok(false);
            }
            // A row at a time, since a text may take a megabyte.
            let mut line = Vec::new();
            let mut writer = arrow::json::WriterBuilder::new()
                .with_explicit_nulls(false)
                .build::<_, arrow::json::writer::LineDelimited>(&mut line);
            writer.write(&batch.slice(at, 1)).and_then(|()| writer.finish())?;
            drop(writer);
            self.bytes = self.bytes.saturating_sub(line.len());
            self.rows.push(serde_json::from_slice(&line).unwrap_or_default());
            self.seen += 1;
        }
        Ok(true)
    }
}

impl Writer for Collected {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError> {
        let columns = schema.fields().iter();
        self.columns = columns.map(|field| (field.name().clone(), field.data_type().to_string())).collect();
        (self.rows, self.more, self.seen) = (Vec::new(), false, 0);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        self.add(batch).map_err(|error| SqlError::query(error.to_string(), "cast the column to text"))
    }

    fn end(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn batch(from: i64, to: i64) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((from..to).map(|at| format!("t{at}"))));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    #[test]
    fn a_page_of_rows_is_collected() {
        let mut rows = Collected::new(3, 4, 10_000);
        rows.begin(&batch(0, 0).schema()).unwrap();
        assert!(rows.write(&batch(0, 5)).unwrap());
        assert!(!rows.write(&batch(5, 10)).unwrap());
        let numbers: Vec<i64> = rows.rows.iter().map(|row| row["n"].as_i64().unwrap()).collect();
        assert_eq!((numbers, rows.more), (vec![3, 4, 5, 6], true));
        assert_eq!(rows.columns[1], ("t".to_owned(), "Utf8".to_owned()));
        // The bytes of one row are enough for it alone.
        let mut rows = Collected::new(0, 9, 5);
        assert!(!rows.write(&batch(0, 5)).unwrap());
        assert_eq!((rows.rows.len(), rows.more), (1, true));
        let mut rows = Collected::new(0, 5, 10_000);
        assert!(rows.write(&batch(0, 5)).unwrap());
        assert!(!rows.more);
    }
}
