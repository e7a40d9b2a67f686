//! Writes a column.

use super::file::length;
use super::length::{BUFFER, whole};
use super::packed::width_of;
use super::packing::Width;
use super::resident::Growing;
use super::target::Target;
use crate::checksums::Checksum;
use crate::fs::File;
use crate::{IoAt, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::path::PathBuf;

/// Writes a column front to back, into memory if the limit of [`Residents`](crate::Residents) allows, else into its
/// file. Writes append, so a file truncated meanwhile has no hole of zeros but ends early, which [`Self::finish`]
/// detects.
pub struct ColumnWriter<T> {
    scratch: Scratch,
    path: PathBuf,
    /// Packing of its file, if any.
    width: Option<Width>,
    sink: Sink,
    /// Checksum of the former content, if known.
    before: Option<Checksum>,
    buffer: Vec<T>,
    /// Number of elements written, including former ones.
    written: u64,
}

enum Sink {
    Memory(Growing),
    File(Box<Target>),
}

impl<T: Pod> ColumnWriter<T> {
    const CAPACITY: usize = BUFFER / size_of::<T>();

    /// Creates or truncates the column.
    pub fn create(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        match scratch.residents_for(&path) {
            Some(residents) => {
                scratch.withdraw(column)?;
                // As a file would, the column exists from now on.
                let width = width_of(column);
                residents.put(&path, residents.grow(width));
                let sink = Sink::Memory(residents.grow(width));
                Ok(Self::new(scratch, column, sink, (0, Some(Checksum::default()))))
            }
            None => Self::create_file(scratch, column),
        }
    }

    /// Writes a whole column element by element; returns its length.
    pub fn write_each(
        scratch: &Scratch,
        column: Column<T>,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<u64, StageError> {
        let mut writer = Self::create(scratch, column)?;
        elements.into_iter().try_for_each(|element| writer.push(element))?;
        writer.finish()
    }

    /// As [`Self::create`], for a column that must have a file.
    pub fn create_file(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        scratch.note(&path, None);
        scratch.note_file();
        let target = Target::create(&path, width_of(column), &[])?;
        Ok(Self::new(scratch, column, Sink::File(Box::new(target)), (0, Some(Checksum::default()))))
    }

    /// Appends to a finished column that is not packed.
    pub fn append(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        debug_assert!(width_of(column).is_none(), "{} is packed", column.name);
        let path = scratch.path(column);
        let before = scratch.sum(&path);
        scratch.note(&path, None);
        let (sink, first) = match scratch.residents().and_then(|residents| residents.reopen(&path)) {
            Some(Ok(growing)) => {
                let first = whole::<T>(&path, growing.bytes().len() as u64)?;
                (Sink::Memory(growing), first)
            }
            // The limit does not allow a copy.
            Some(Err(pages)) => {
                scratch.note_file();
                let target = Target::create(&path, None, pages.bytes())?;
                (Sink::File(Box::new(target)), whole::<T>(&path, pages.bytes().len() as u64)?)
            }
            None => {
                let file = File::append(&path).at(&path, "open")?;
                let there = length(scratch, &path, &file)?;
                (Sink::File(Box::new(Target::new(file, None, there))), whole::<T>(&path, there)?)
            }
        };
        let bytes = first * size_of::<T>() as u64;
        if let Some(before) = before.as_ref().filter(|before| before.length() != bytes) {
            return Err(StageError::cut_off(&path, before.length(), bytes));
        }
        Ok(Self::new(scratch, column, sink, (first, before)))
    }

    fn new(scratch: &Scratch, column: Column<T>, sink: Sink, (written, before): (u64, Option<Checksum>)) -> Self {
        // The buffer grows on demand: most columns of a small input need less, and large allocations are slow.
        let buffer = Vec::new();
        let (path, width) = (scratch.path(column), width_of(column));
        Self { scratch: scratch.clone(), path, width, sink, before, buffer, written }
    }

    /// Number of elements so far.
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// True if the column has no elements yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a whole column; returns its length.
    pub fn write_all(scratch: &Scratch, column: Column<T>, elements: &[T]) -> Result<u64, StageError> {
        let mut writer = Self::create(scratch, column)?;
        writer.extend(elements)?;
        writer.finish()
    }

    /// Appends one element.
    #[inline]
    pub fn push(&mut self, element: T) -> Result<(), StageError> {
        self.buffer.push(element);
        if self.buffer.len() == Self::CAPACITY { self.flush() } else { Ok(()) }
    }

    /// Appends elements.
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
    /// [`StageError::Scratch`] when the file was truncated meanwhile.
    pub fn finish(mut self) -> Result<u64, StageError> {
        self.flush()?;
        match self.sink {
            Sink::Memory(growing) => {
                if let Some(residents) = self.scratch.residents_for(&self.path) {
                    residents.put(&self.path, growing);
                }
                let bytes = self.written * size_of::<T>() as u64;
                self.scratch.note(&self.path, Some(Checksum::of_length(bytes)));
            }
            Sink::File(target) => {
                let (appended, hash) = target.finish(&self.path)?;
                if let Some(residents) = self.scratch.residents() {
                    // The former column in memory.
                    residents.remove(&self.path);
                }
                self.scratch.note(&self.path, self.before.map(|before| before.and(appended, &hash)));
            }
        }
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
        if let Sink::Memory(growing) = &mut self.sink {
            if growing.push(bytes) {
                self.written += elements.len() as u64;
                return Ok(());
            }
            self.leave_memory()?;
        }
        if let Sink::File(target) = &mut self.sink {
            target.write(bytes).at(&self.path, "write")?;
            self.written += elements.len() as u64;
        }
        Ok(())
    }

    /// Moves the column to a file.
    #[cold]
    fn leave_memory(&mut self) -> Result<(), StageError> {
        if let Sink::Memory(growing) = &self.sink {
            let first = self.before.as_ref().map_or(0, Checksum::length) as usize;
            let (there, more) = growing.bytes().split_at(first);
            self.scratch.note_file();
            let mut target = Target::create(&self.path, self.width, there)?;
            target.write(more).at(&self.path, "write")?;
            self.sink = Sink::File(Box::new(target));
        }
        Ok(())
    }
}
