//! One row group: its columns are encoded in parallel and have the same number of rows.
//!
//! Columns are independent of each other, so several threads may write them: each thread takes the next column that no
//! other one has taken, reads a batch of its rows, encodes and compresses them. How many rows of a batch fit all
//! dictionaries must be known before any of them is written, so a column of texts takes those of the next batch in at
//! once: there is one wait for all threads per batch. The bytes of a column depend on its values alone, and the number of
//! rows in a group depends on the values of all columns; so the file is the same with any number of threads.

use crate::column::{Closed, Column, Failure, Input, Task};
use crate::team::{Team, lead};
use arrow::datatypes::Schema;
use heaplake_kit::Context;
use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;

/// When a row group ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows per batch: the unit of reading, and a data page of each column.
    pub batch: usize,
    /// Maximum number of rows.
    pub rows: usize,
    /// Bytes of encoded pages after which no further batch is added.
    pub bytes: usize,
    /// Maximum number of bytes of the dictionary of a text column. A single longer text is the only one in its dictionary.
    pub dictionary: usize,
}

/// Rows of a batch below which further threads cost more than they save.
const WORTH_A_THREAD: usize = 4096;

/// Rows of a row group, and its columns in the order of the schema.
pub type Encoded = (u64, Vec<Closed>);

/// Encodes a row group of up to `most` rows, fewer if it is full before. No column may be nested.
///
/// # Errors
/// Those of the sources and of encoding, or the request to stop.
pub fn encode(
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
    lead(
        threads,
        |column: &mut Column<'_, '_>, task| column.work(task),
        |team| {
            let mut group = RowGroup { columns, limits, team };
            let rows = group.fill(most, context)?;
            group.close().map(|columns| (rows as u64, columns))
        },
    )
}

/// A row group that is being written.
struct RowGroup<'t, 's, 'a> {
    columns: Vec<Column<'s, 'a>>,
    limits: Limits,
    team: &'t Team<'t, Column<'s, 'a>, Task, Failure>,
}

impl RowGroup<'_, '_, '_> {
    /// Writes up to `most` rows, fewer if the row group is full before; returns how many.
    fn fill(&mut self, most: usize, context: &Context<'_>) -> Result<usize, Failure> {
        let batch = |rows| self.limits.batch.min(most - rows);
        let (mut rows, mut interned) = (0, batch(0));
        self.team.each(&mut self.columns, Task::Intern(interned))?;
        while interned > 0 {
            let fits = self.columns.iter().map(|column| column.fits(interned)).min().unwrap_or(0);
            let following = if fits < interned { 0 } else { batch(rows + fits) };
            if fits > 0 {
                self.team.each(&mut self.columns, Task::Write(fits, following))?;
                rows += fits;
                context.step(fits as u64)?;
            }
            if following > 0 && self.columns.iter().map(Column::bytes).sum::<usize>() > self.limits.bytes {
                self.team.each(&mut self.columns, Task::Forget)?;
                break;
            }
            interned = following;
        }
        Ok(rows)
    }

    /// Ends all columns and returns them in the order of the schema.
    fn close(mut self) -> Result<Vec<Closed>, Failure> {
        self.team.each(&mut self.columns, Task::Close)?;
        Ok(self.columns.into_iter().filter_map(Column::closed).collect())
    }
}
