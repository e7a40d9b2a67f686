//! A column of a row group, from its source to its pages.

use crate::constant::ConstantChunk;
use crate::source::{Next, Source};
use crate::text::TextChunk;
use crate::values::ValueChunk;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::Field;
use bytes::Bytes;
use heaplake_kit::StageError;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

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
pub enum Column<'s, 'a> {
    /// Values.
    Values {
        /// Its source.
        next: &'s mut Next<'a, ArrayRef>,
        /// Its pages.
        chunk: Box<ValueChunk>,
    },
    /// Texts by position.
    Texts {
        /// Its source.
        next: &'s mut Next<'a, Vec<u32>>,
        /// Positions that were read and not written.
        unwritten: &'s mut Vec<u32>,
        /// The keys of the first of them.
        keys: Vec<u32>,
        /// Its pages.
        chunk: Box<TextChunk<'a>>,
    },
    /// The same in all rows.
    Same(ConstantChunk<'a>),
    /// Finished.
    Closed(Option<Closed>),
}

/// A finished column: its dictionary and pages, and what the file says of it.
pub struct Closed(Vec<u8>, Box<ColumnCloseResult>);

impl Closed {
    /// Appends the column to the file; the CRC-32 of its dictionary and its pages, with their headers.
    ///
    /// # Errors
    /// Those of writing.
    pub fn append<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<Vec<u32>, ParquetError> {
        let Self(bytes, close) = self;
        let locations = close.offset_index.iter().flat_map(OffsetIndexMetaData::page_locations);
        let starts: Vec<usize> = locations.map(|page| page.offset as usize).chain([bytes.len()]).collect();
        let dictionary = [0, starts[0]];
        let pages = dictionary.windows(2).chain(starts.windows(2)).map(|page| &bytes[page[0]..page[1]]);
        let sums = pages.filter(|page| !page.is_empty()).map(crc32fast::hash).collect();
        group.append_column(&Bytes::from(bytes), *close)?;
        Ok(sums)
    }
}

impl From<(Vec<u8>, ColumnCloseResult)> for Closed {
    fn from((bytes, close): (Vec<u8>, ColumnCloseResult)) -> Self {
        Self(bytes, Box::new(close))
    }
}

/// A column all of whose rows are there; nothing for a nested one.
///
/// # Errors
/// Those of encoding.
pub fn whole(
    array: &ArrayRef,
    field: &Field,
    column: &ColumnDescPtr,
    batch: usize,
) -> Result<Option<Closed>, ParquetError> {
    let Some(mut chunk) = ValueChunk::new(field, column) else { return Ok(None) };
    for start in (0..array.len()).step_by(batch) {
        chunk.write(&array.slice(start, batch.min(array.len() - start)))?;
    }
    Ok(Some(chunk.close()?.into()))
}

/// What is done with a column.
#[derive(Clone, Copy)]
pub enum Task {
    /// The texts of so many rows, the next ones, go into the dictionary, as many as fit.
    Intern(usize),
    /// So many rows, all of which fit the dictionaries, are written as a page; then the texts of so many following ones go
    /// into the dictionary.
    Write(usize, usize),
    /// What the last [`Task::Intern`] did is undone.
    Forget,
    /// The column ends.
    Close,
}

impl<'s, 'a> Column<'s, 'a> {
    /// The column of an input.
    ///
    /// # Errors
    /// [`ParquetError`] for a nested one.
    pub fn new(
        input: &'s mut Input<'a>,
        field: &Field,
        column: ColumnDescPtr,
        dictionary: usize,
    ) -> Result<Self, ParquetError> {
        Ok(match &mut input.source {
            Source::Same(text) => Self::Same(ConstantChunk::new(column, *text)),
            Source::Values(next) => {
                let unfit = || ParquetError::General(format!("no values are written to the column {}", field.name()));
                Self::Values { next, chunk: Box::new(ValueChunk::new(field, &column).ok_or_else(unfit)?) }
            }
            Source::Texts(texts, next) => {
                let chunk = Box::new(TextChunk::new(*texts, column, dictionary));
                Self::Texts { next, unwritten: &mut input.unwritten, keys: Vec::new(), chunk }
            }
        })
    }

    /// Does a task.
    ///
    /// # Errors
    /// Those of the source and of encoding.
    pub fn work(&mut self, task: Task) -> Result<(), Failure> {
        match task {
            Task::Intern(rows) => self.intern(rows),
            Task::Write(rows, following) => {
                self.write(rows)?;
                self.intern(following)
            }
            Task::Forget => {
                if let Self::Texts { keys, chunk, .. } = self {
                    keys.clear();
                    chunk.forget();
                }
                Ok(())
            }
            Task::Close => self.close(),
        }
    }

    fn intern(&mut self, most: usize) -> Result<(), Failure> {
        let Self::Texts { next, unwritten, keys, chunk } = self else { return Ok(()) };
        if unwritten.is_empty() && most > 0 {
            **unwritten = next(most)?;
        } else if unwritten.len() < most {
            unwritten.append(&mut next(most - unwritten.len())?);
        }
        keys.clear();
        chunk.intern(&unwritten[..most], keys);
        Ok(())
    }

    /// How many of these rows fit its dictionary, after they were interned.
    pub fn fits(&self, rows: usize) -> usize {
        if let Self::Texts { keys, .. } = self { keys.len() } else { rows }
    }

    fn write(&mut self, rows: usize) -> Result<(), Failure> {
        match self {
            Self::Values { next, chunk } => chunk.write(&next(rows)?)?,
            Self::Texts { unwritten, keys, chunk, .. } => {
                chunk.write(&keys[..rows])?;
                if rows == unwritten.len() {
                    **unwritten = Vec::new();
                } else {
                    unwritten.drain(..rows);
                }
            }
            Self::Same(chunk) => chunk.write(rows),
            Self::Closed(_) => {}
        }
        Ok(())
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Values { chunk, .. } => chunk.bytes(),
            Self::Texts { chunk, .. } => chunk.bytes(),
            Self::Same(_) | Self::Closed(_) => 0,
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let closed = match std::mem::replace(self, Self::Closed(None)) {
            Self::Values { chunk, .. } => chunk.close()?.into(),
            Self::Texts { chunk, .. } => chunk.close()?.into(),
            Self::Same(chunk) => chunk.close()?.into(),
            Self::Closed(closed) => {
                *self = Self::Closed(closed);
                return Ok(());
            }
        };
        *self = Self::Closed(Some(closed));
        Ok(())
    }

    /// What it is, after it was closed.
    pub fn closed(self) -> Option<Closed> {
        if let Self::Closed(closed) = self { closed } else { None }
    }
}
