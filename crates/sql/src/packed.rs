//! Reads the rows of packed runs ([`heaplake_lake::packs`]): one pass over a pack for all runs of a view.

use crate::files::{Reading, Source};
use crate::scanned::{Piece, Scanned, adapted, is_of_run};
use arrow::array::{RecordBatch, UInt32Array};
use datafusion::error::{DataFusionError, Result};
use futures::stream::{self, BoxStream, StreamExt};
use heaplake_lake::packs::Pack;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, RowSelection};
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask};
use std::ops::Range;
use std::sync::Arc;

/// A pack with the runs that a view reads of it.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The pack.
    pub pack: Arc<Pack>,
    /// Numbers of the runs in the lake, and their rows in the pack.
    pub runs: Vec<(u32, Range<u64>)>,
}

/// Assigns the rows of a sequence of runs to them.
struct Cursor {
    runs: Vec<(u32, usize)>,
    at: usize,
    /// Rows of the run at `at` that were assigned.
    done: usize,
}

impl Packed {
    /// With the runs in order of their rows.
    pub(crate) fn sorted(mut self) -> Self {
        self.runs.sort_by_key(|(_, rows)| rows.start);
        self
    }

    /// Rows of the runs.
    pub(crate) fn rows(&self) -> u64 {
        self.runs.iter().map(|(_, rows)| rows.end - rows.start).sum()
    }

    /// About the bytes that are read for them.
    pub(crate) fn bytes(&self) -> u64 {
        let all = u64::try_from(self.pack.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
        (u128::from(self.pack.length()) * u128::from(self.rows()) / u128::from(all)).try_into().unwrap_or(u64::MAX)
    }

    /// The rows of a piece: a share of the runs.
    pub(crate) async fn read(
        &self,
        table: &Scanned,
        piece: Piece,
        most: usize,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let share = |part: u16| self.runs.len() * usize::from(part) / usize::from(piece.of);
        let runs = &self.runs[share(piece.part)..share(piece.part + 1)];
        let length = |rows: &Range<u64>| usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
        let cursor = runs.iter().map(|(run, rows)| (*run, length(rows))).filter(|(_, rows)| *rows > 0).collect();
        let mut cursor = Cursor { runs: cursor, at: 0, done: 0 };
        let (lake, schema) = (Arc::clone(&table.lake), Arc::clone(&table.schema));
        if schema.fields().iter().all(|field| is_of_run(field.name())) {
            let batches = std::iter::from_fn(move || {
                let of = cursor.next(most);
                let rows = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
                (!of.is_empty()).then(|| adapted(&lake, &UInt32Array::from(of), &schema, &rows))
            });
            return Ok(stream::iter(batches).boxed());
        }
        let reading =
            Reading::new(self.pack.path().to_owned(), self.pack.length(), Source::Pack(Arc::clone(&self.pack)));
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchStreamBuilder::new_with_options(reading, options).await?;
        let wanted = schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !is_of_run(name));
        let mask = ProjectionMask::columns(builder.parquet_schema(), wanted);
        let total = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let number = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
        let ranges = runs.iter().map(|(_, rows)| number(rows.start)..number(rows.end));
        let selection = RowSelection::from_consecutive_ranges(ranges, total);
        let rows = builder.with_projection(mask).with_row_selection(selection).with_batch_size(most).build()?;
        let pack = Arc::clone(&self.pack);
        let converted = move |batch: parquet::errors::Result<RecordBatch>| {
            let batch = pack.restored(&batch.map_err(DataFusionError::from)?)?;
            let of = cursor.next(batch.num_rows());
            if of.len() != batch.num_rows() {
                return Err(DataFusionError::Internal("a pack has more rows than its runs".to_owned()));
            }
            adapted(&lake, &UInt32Array::from(of), &schema, &batch)
        };
        Ok(rows.map(converted).boxed())
    }
}

impl Cursor {
    /// The run of each of the next rows, at most `most`.
    fn next(&mut self, most: usize) -> Vec<u32> {
        let mut of = Vec::with_capacity(most.min(1 << 16));
        while of.len() < most
            && let Some(&(run, rows)) = self.runs.get(self.at)
        {
            let count = (rows - self.done).min(most - of.len());
            of.extend(std::iter::repeat_n(run, count));
            self.done += count;
            if self.done == rows {
                (self.at, self.done) = (self.at + 1, 0);
            }
        }
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_their_runs() {
        let mut cursor = Cursor { runs: vec![(7, 2), (3, 3), (9, 1)], at: 0, done: 0 };
        assert_eq!(cursor.next(1), [7]);
        assert_eq!(cursor.next(3), [7, 3, 3]);
        assert_eq!(cursor.next(9), [3, 9]);
        assert_eq!(cursor.next(9), [0_u32; 0]);
    }
}
