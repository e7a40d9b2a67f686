//! One row group: its columns are encoded in parallel and have the same number of rows.
//!
//! Columns are independent, so several threads may encode them: each thread takes the next free column, reads a batch
//! of its rows, encodes and compresses them. The number of rows of a batch that fit all dictionaries must be known
//! before they are written, so text columns intern the next batch at the same time: one barrier per batch. The bytes of
//! a column depend on its values alone, and the number of rows in a group on the values of all columns; so the file
//! does not depend on the number of threads.

use crate::column::{Closed, Column, Failure, Input, Task};
use arrow::datatypes::Schema;
use heaplake_kit::{Context, threads};
use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;

/// Limits of a row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Rows per batch: the unit of reading, and a data page of each column.
    pub batch: usize,
    /// Maximum number of rows.
    pub rows: usize,
    /// Bytes of encoded pages after which no further batch is added.
    pub bytes: usize,
    /// Maximum bytes of the dictionary of a text column. A longer text is the only one in its dictionary.
    pub dictionary: usize,
}

/// Minimum rows for which threads pay.
const WORTH_A_THREAD: usize = 4096;

/// Number of rows of a row group, and its columns in schema order.
pub(crate) type Encoded = (u64, Vec<Closed>);

/// Encodes a row group of up to `most` rows, fewer if a limit is reached. No column may be nested.
pub(crate) fn encode(
    inputs: &mut [Input<'_>],
    (fields, columns): (&Schema, &SchemaDescriptor),
    limits: Limits,
    most: u64,
    context: &Context<'_>,
) -> Result<Encoded, Failure> {
    let most = most.min(limits.rows as u64) as usize;
    let threads = if most < WORTH_A_THREAD { 1 } else { context.threads.min(inputs.len()) };
    let of = |(at, input)| Column::new(input, fields.field(at), columns.column(at), limits.dictionary);
    let columns = inputs.iter_mut().enumerate().map(of).collect::<Result<_, ParquetError>>()?;
    let mut group = RowGroup { columns, limits, threads };
    let rows = group.fill(most, context)?;
    group.close().map(|columns| (rows as u64, columns))
}

/// A row group that is being written.
struct RowGroup<'s, 'a> {
    columns: Vec<Column<'s, 'a>>,
    limits: Limits,
    threads: usize,
}

impl RowGroup<'_, '_> {
    /// Does the task with all columns; the error is that of the first column that has one.
    fn each(&mut self, task: Task) -> Result<(), Failure> {
        threads::map(self.threads, &mut self.columns, |column| column.work(task)).into_iter().collect()
    }

    /// Writes up to `most` rows, fewer if the row group is full before; returns how many.
    fn fill(&mut self, most: usize, context: &Context<'_>) -> Result<usize, Failure> {
        let batch_rows = self.limits.batch;
        let batch = |rows| batch_rows.min(most - rows);
        let (mut rows, mut interned) = (0, batch(0));
        self.each(Task::Intern(interned))?;
        while interned > 0 {
            let fits = self.columns.iter().map(|column| column.fits(interned)).min().unwrap_or(0);
            let following = if fits < interned { 0 } else { batch(rows + fits) };
            if fits > 0 {
                self.each(Task::Write(fits, following))?;
                rows += fits;
                context.step(fits as u64)?;
            }
            if following > 0 && self.columns.iter().map(Column::bytes).sum::<usize>() > self.limits.bytes {
                self.each(Task::Forget)?;
                break;
            }
            interned = following;
        }
        Ok(rows)
    }

    /// Ends all columns; returns them in schema order.
    fn close(mut self) -> Result<Vec<Closed>, Failure> {
        self.each(Task::Close)?;
        Ok(self.columns.into_iter().filter_map(Column::closed).collect())
    }
}
