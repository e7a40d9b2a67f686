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

/// The error of a column, from its source or its writer.
#[derive(Debug)]
pub(crate) enum Failure {
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

/// The source of a column, and positions of texts that were read but did not fit the last row group.
pub(crate) struct Input<'a> {
    source: Source<'a>,
    unwritten: Vec<u32>,
}

impl<'a> From<Source<'a>> for Input<'a> {
    fn from(source: Source<'a>) -> Self {
        Self { source, unwritten: Vec::new() }
    }
}

/// A column of a row group.
pub(crate) enum Column<'s, 'a> {
    /// Values.
    Values {
        /// The source.
        next: &'s mut Next<'a, ArrayRef>,
        /// The pages.
        chunk: Box<ValueChunk>,
    },
    /// Texts by position.
    Texts {
        /// The source.
        next: &'s mut Next<'a, Vec<u32>>,
        /// Positions read but not written.
        unwritten: &'s mut Vec<u32>,
        /// Dictionary keys of the first ones.
        keys: Vec<u32>,
        /// The pages.
        chunk: Box<TextChunk<'a>>,
    },
    /// The same value in all rows.
    Same(ConstantChunk<'a>),
    /// Finished.
    Closed(Option<Closed>),
}

/// A finished column: dictionary and pages, and its metadata.
pub(crate) struct Closed(Vec<u8>, Box<ColumnCloseResult>);

impl Closed {
    /// Appends the column to the file; returns the CRC-32 of its dictionary and its pages, with headers.
    pub(crate) fn append<W: Write + Send>(
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

/// Encodes a complete column; `None` for a nested one.
pub(crate) fn whole(
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

/// A step of writing a column.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    /// Adds the texts of the next rows (at most this many) to the dictionary.
    Intern(usize),
    /// Writes this many rows, which fit all dictionaries, as a page; then adds the texts of the following rows to the
    /// dictionary.
    Write(usize, usize),
    /// Undoes the last [`Task::Intern`].
    Forget,
    /// Ends the column.
    Close,
}

impl<'s, 'a> Column<'s, 'a> {
    /// Creates the column of an input; fails for a nested one.
    pub(crate) fn new(
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

    /// Performs a step.
    pub(crate) fn work(&mut self, task: Task) -> Result<(), Failure> {
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

    /// Number of these rows that fit the dictionary, after [`Task::Intern`].
    pub(crate) fn fits(&self, rows: usize) -> usize {
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

    /// Bytes of pages so far.
    pub(crate) fn bytes(&self) -> usize {
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

    /// Returns the finished column.
    pub(crate) fn closed(self) -> Option<Closed> {
        if let Self::Closed(closed) = self { closed } else { None }
    }
}
