//! Writing a column.

use super::length::{BUFFER, elements};
use crate::fs::File;
use crate::sums::Sum;
use crate::{Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::io::Write;
use std::path::PathBuf;
use xxhash_rust::xxh3::Xxh3;

/// Writes a column front to back. Writes go to the end of the file, so one that is cut off meanwhile never has a hole of
/// zeros but ends too early, which [`Self::finish`] finds out.
pub struct ColumnWriter<T> {
    scratch: Scratch,
    path: PathBuf,
    file: File,
    /// What was there before; nothing if nobody knows.
    before: Option<Sum>,
    hash: Box<Xxh3>,
    /// Elements that were there before.
    first: u64,
    buffer: Vec<T>,
    written: u64,
}

impl<T: Pod> ColumnWriter<T> {
    const CAPACITY: usize = BUFFER / size_of::<T>();

    /// Creates the column, or truncates it.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        scratch.note(&path, None);
        let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        Ok(Self::new(scratch, path, file, (0, Some(Sum::default()))))
    }

    /// Appends to a column that an earlier writer finished.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold whole elements.
    pub fn append(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        let file = File::append(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let written = elements::<T>(scratch, &path, &file)?;
        let before = scratch.sum(&path);
        if let Some(before) = before.as_ref().filter(|before| before.length() != written * size_of::<T>() as u64) {
            return Err(StageError::cut_off(&path, before.length(), written * size_of::<T>() as u64));
        }
        scratch.note(&path, None);
        Ok(Self::new(scratch, path, file, (written, before)))
    }

    fn new(scratch: &Scratch, path: PathBuf, file: File, (first, before): (u64, Option<Sum>)) -> Self {
        let buffer = Vec::with_capacity(Self::CAPACITY);
        Self { scratch: scratch.clone(), path, file, before, hash: Box::default(), first, buffer, written: first }
    }

    /// Elements written so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Whether nothing has been written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one element.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, element: T) -> Result<(), StageError> {
        self.buffer.push(element);
        if self.buffer.len() == Self::CAPACITY { self.flush() } else { Ok(()) }
    }

    /// Appends many elements.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn extend(&mut self, elements: &[T]) -> Result<(), StageError> {
        if elements.len() < Self::CAPACITY - self.buffer.len() {
            self.buffer.extend_from_slice(elements);
            return Ok(());
        }
        self.flush()?;
        if elements.len() >= Self::CAPACITY {
            self.write(elements)
        } else {
            self.buffer.extend_from_slice(elements);
            Ok(())
        }
    }

    /// Flushes the buffer and returns the length of the column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold what was written.
    pub fn finish(mut self) -> Result<u64, StageError> {
        self.flush()?;
        let bytes = self.written * size_of::<T>() as u64;
        let there = self.file.metadata().map_err(|error| StageError::io(&self.path, "examine", error))?.len();
        if there != bytes {
            return Err(StageError::cut_off(&self.path, bytes, there));
        }
        let appended = (self.written - self.first) * size_of::<T>() as u64;
        self.scratch.note(&self.path, self.before.map(|before| before.and(appended, &self.hash)));
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), StageError> {
        let buffer = std::mem::take(&mut self.buffer);
        let result = self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        result
    }

    fn write(&mut self, elements: &[T]) -> Result<(), StageError> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        self.file.write_all(bytes).map_err(|error| StageError::io(&self.path, "write", error))?;
        self.hash.update(bytes);
        self.written += elements.len() as u64;
        Ok(())
    }
}
