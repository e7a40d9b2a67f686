//! One row group: its columns are encoded in parallel and have the same number of rows.
//!
//! Columns are independent of each other, so several threads may write them: each thread takes the next column that no
//! other one has taken, reads its rows, encodes and compresses them. The bytes of a column depend on its values alone,
//! and the number of rows in a group depends on the values of all columns; so the file is the same with any number of
//! threads.

use crate::source::{Next, Source};
use crate::text::TextChunk;
use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema};
use bytes::Bytes;
use heaplake_kit::fs::before_thread;
use heaplake_kit::{Context, StageError};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::SchemaDescriptor;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

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

/// The error of a column, from reading or from writing it.
#[derive(Debug)]
pub enum Failure {
    /// An error of the source.
    Source(StageError),
    /// An error of the writer.
    Writer(ParquetError),
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::Source(error)
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Writer(error)
    }
}

/// The source of a column, with the rows that were read from it but did not fit the last row group: positions of texts.
pub struct Input<'a> {
    source: Source<'a>,
    unwritten: Vec<u32>,
}

impl<'a> From<Source<'a>> for Input<'a> {
    fn from(source: Source<'a>) -> Self {
        Self { source, unwritten: Vec::new() }
    }
}

/// A column of a row group.
enum Column<'s, 'a> {
    Values { next: &'s mut Next<'a, ArrayRef>, field: &'s Field, writer: Box<ArrowColumnWriter> },
    Texts { next: &'s mut Next<'a, Vec<u32>>, unwritten: &'s mut Vec<u32>, keys: Vec<u32>, chunk: Box<TextChunk<'a>> },
    Closed(Closed),
}

/// A finished column.
pub enum Closed {
    /// Encoded by the Parquet library.
    Values(Box<ArrowColumnChunk>),
    /// Encoded by [`crate::text`].
    Texts(Vec<u8>, Box<ColumnCloseResult>),
    /// Already taken.
    Nothing,
}

impl Closed {
    /// Appends the column to the file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn append<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> ParquetResult<()> {
        match self {
            Self::Values(chunk) => chunk.append_to_row_group(group),
            Self::Texts(chunk, close) => group.append_column(&Bytes::from(chunk), *close),
            Self::Nothing => Ok(()),
        }
    }
}

impl<'s, 'a> Column<'s, 'a> {
    /// For a column of texts: reads up to `most` rows and adds their texts to the dictionary; returns how many rows fit
    /// the dictionary. For other columns: returns `most`.
    fn intern(&mut self, most: usize) -> Result<usize, Failure> {
        let Self::Texts { next, unwritten, keys, chunk } = self else { return Ok(most) };
        if unwritten.len() < most {
            unwritten.append(&mut next(most - unwritten.len())?);
        }
        keys.clear();
        chunk.intern(&unwritten[..most], keys);
        Ok(keys.len())
    }

    /// Writes the next rows; for a column of texts, at most as many as [`Self::intern`] returned.
    fn write(&mut self, rows: usize) -> Result<(), Failure> {
        match self {
            Self::Values { next, field, writer } => {
                for leaf in compute_leaves(field, &next(rows)?)? {
                    writer.write(&leaf)?;
                }
            }
            Self::Texts { unwritten, keys, chunk, .. } => {
                chunk.write(&keys[..rows])?;
                unwritten.drain(..rows);
            }
            Self::Closed(_) => {}
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Values { writer, .. } => writer.get_estimated_total_bytes(),
            Self::Texts { chunk, .. } => chunk.bytes(),
            Self::Closed(_) => 0,
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let closed = match std::mem::replace(self, Self::Closed(Closed::Nothing)) {
            Self::Values { writer, .. } => Closed::Values(Box::new(writer.close()?)),
            Self::Texts { chunk, .. } => {
                let (chunk, close) = chunk.close()?;
                Closed::Texts(chunk, Box::new(close))
            }
            Self::Closed(closed) => closed,
        };
        *self = Self::Closed(closed);
        Ok(())
    }
}

/// A row group that is being written.
pub struct RowGroup<'s, 'a> {
    columns: Vec<Column<'s, 'a>>,
    limits: Limits,
}

impl<'s, 'a> RowGroup<'s, 'a> {
    /// Starts a row group. No column may be nested.
    pub fn new(
        inputs: &'s mut [Input<'a>],
        writers: Vec<ArrowColumnWriter>,
        fields: &'s Schema,
        columns: &SchemaDescriptor,
        limits: Limits,
    ) -> Self {
        let columns = inputs.iter_mut().zip(writers).enumerate().map(|(at, (input, writer))| match &mut input.source {
            Source::Values(next) => Column::Values { next, field: fields.field(at), writer: Box::new(writer) },
            Source::Texts(texts, next) => {
                let chunk = Box::new(TextChunk::new(*texts, columns.column(at), limits.dictionary));
                Column::Texts { next, unwritten: &mut input.unwritten, keys: Vec::new(), chunk }
            }
        });
        Self { columns: columns.collect(), limits }
    }

    /// Writes up to `most` rows, fewer if the row group is full before; returns how many.
    ///
    /// # Errors
    /// Those of the sources and of writing, or the request to stop.
    pub fn fill(&mut self, most: u64, context: &Context<'_>) -> Result<u64, Failure> {
        let most = most.min(self.limits.rows as u64) as usize;
        let mut rows = 0;
        while rows < most {
            let batch = self.limits.batch.min(most - rows);
            let threads = if batch < WORTH_A_THREAD { 1 } else { context.threads };
            let fits = self.intern(batch, threads)?;
            if fits > 0 {
                in_parallel(threads, &mut self.columns, |column| column.write(fits))?;
                rows += fits;
                context.step(fits as u64)?;
            }
            if fits < batch || self.columns.iter().map(Column::bytes).sum::<usize>() > self.limits.bytes {
                break;
            }
        }
        Ok(rows as u64)
    }

    /// Adds the texts of the next `batch` rows to the dictionaries; returns how many rows fit all of them.
    fn intern(&mut self, batch: usize, threads: usize) -> Result<usize, Failure> {
        let mut texts: Vec<(&mut Column<'s, 'a>, usize)> = self
            .columns
            .iter_mut()
            .filter(|column| matches!(column, Column::Texts { .. }))
            .map(|column| (column, batch))
            .collect();
        in_parallel(threads, &mut texts, |(column, fits)| {
            *fits = column.intern(batch)?;
            Ok(())
        })?;
        Ok(texts.iter().map(|(_, fits)| *fits).min().unwrap_or(batch))
    }

    /// Ends all columns and returns them in the order of the schema.
    ///
    /// # Errors
    /// Those of writing.
    pub fn close(mut self, threads: usize) -> Result<Vec<Closed>, Failure> {
        in_parallel(threads, &mut self.columns, Column::close)?;
        let closed = self.columns.into_iter().map(|column| match column {
            Column::Closed(closed) => closed,
            _ => Closed::Nothing,
        });
        Ok(closed.collect())
    }
}

/// Applies `work` to each item, in any order, on up to `threads` threads, fewer if the system refuses to start one.
fn in_parallel<T: Send>(
    threads: usize,
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.iter_mut());
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some(item) = take() {
            work(item)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers)
            .map_while(|_| before_thread().and_then(|()| thread::Builder::new().spawn_scoped(scope, run)).ok())
            .collect();
        let own = run();
        helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .fold(own, Result::and)
    })
}
