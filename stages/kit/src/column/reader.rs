//! Reading a column from either end.

use super::length::{BUFFER, elements};
use crate::fs::File;
use crate::{Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Reads a column front to back through one buffer.
pub struct ColumnReader<T> {
    path: PathBuf,
    file: File,
    buffer: Vec<T>,
    position: usize,
    filled: usize,
    unread: u64,
}

impl<T: Pod> ColumnReader<T> {
    /// Opens a column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold whole elements.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let unread = elements::<T>(scratch, &path, &file)?;
        let capacity = (BUFFER / size_of::<T>()).min(unread as usize);
        Ok(Self { path, file, buffer: vec![T::zeroed(); capacity], position: 0, filled: 0, unread })
    }

    /// Elements not yet returned.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.unread + (self.filled - self.position) as u64
    }

    /// The next element.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "not an iterator: every element must be there")]
    pub fn next(&mut self) -> Result<T, StageError> {
        if self.position == self.filled {
            self.refill()?;
        }
        let element = self.buffer[self.position];
        self.position += 1;
        Ok(element)
    }

    /// The next elements, at most `most` of them and as many as the buffer holds; at least one.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
    pub fn next_slice(&mut self, most: usize) -> Result<&[T], StageError> {
        if self.position == self.filled {
            self.refill()?;
        }
        let from = self.position;
        self.position += most.min(self.filled - from);
        Ok(&self.buffer[from..self.position])
    }

    /// As [`Self::next_slice`], and also returns the elements after those that are already in the buffer; they are
    /// returned again by the next call.
    ///
    /// # Errors
    /// As [`Self::next_slice`].
    #[inline]
    pub fn next_slice_and_rest(&mut self, most: usize) -> Result<(&[T], &[T]), StageError> {
        if self.position == self.filled {
            self.refill()?;
        }
        let from = self.position;
        self.position += most.min(self.filled - from);
        Ok(self.buffer[from..self.filled].split_at(self.position - from))
    }

    /// Fills `out` with the next elements.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
    pub fn read_into(&mut self, mut out: &mut [T]) -> Result<(), StageError> {
        while !out.is_empty() {
            let part = self.next_slice(out.len())?;
            let (head, tail) = out.split_at_mut(part.len());
            head.copy_from_slice(part);
            out = tail;
        }
        Ok(())
    }

    /// Appends the next `count` elements to `out`.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
    pub fn append_to(&mut self, out: &mut Vec<T>, mut count: usize) -> Result<(), StageError> {
        while count > 0 {
            let part = self.next_slice(count)?;
            out.extend_from_slice(part);
            count -= part.len();
        }
        Ok(())
    }

    /// Skips the next `count` elements.
    ///
    /// # Errors
    /// As [`Self::next_slice`].
    pub fn skip(&mut self, mut count: u64) -> Result<(), StageError> {
        let held = (self.filled - self.position) as u64;
        let far = count.saturating_sub(held).min(self.unread);
        if far > self.buffer.len() as u64 {
            let bytes = i64::try_from(far * size_of::<T>() as u64).unwrap_or(i64::MAX);
            self.file.seek(SeekFrom::Current(bytes)).map_err(|error| StageError::io(&self.path, "read", error))?;
            (self.position, self.unread) = (self.filled, self.unread - far);
            count -= held + far;
        }
        while count > 0 {
            count -= self.next_slice(usize::try_from(count).unwrap_or(usize::MAX))?.len() as u64;
        }
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), StageError> {
        if self.unread == 0 {
            return Err(StageError::Scratch { path: self.path.clone(), problem: "it ends too early".to_owned() });
        }
        let count = self.buffer.len().min(self.unread as usize);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.buffer[..count]);
        self.file.read_exact(bytes).map_err(|error| StageError::io(&self.path, "read", error))?;
        (self.position, self.filled) = (0, count);
        self.unread -= count as u64;
        Ok(())
    }
}

/// Reads a column back to front through one buffer.
pub struct ReverseReader<T> {
    path: PathBuf,
    file: File,
    buffer: Vec<T>,
    /// Elements in the buffer that are not returned yet; the next one is the last of them.
    left: usize,
    unread: u64,
}

impl<T: Pod> ReverseReader<T> {
    /// Opens a column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold whole elements.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let unread = elements::<T>(scratch, &path, &file)?;
        let capacity = (BUFFER / size_of::<T>()).min(unread as usize);
        Ok(Self { path, file, buffer: vec![T::zeroed(); capacity], left: 0, unread })
    }

    /// Elements not yet returned.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.unread + self.left as u64
    }

    /// The element before the one returned last; at first the last element of the column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the beginning.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "not an iterator: every element must be there")]
    pub fn next(&mut self) -> Result<T, StageError> {
        if self.left == 0 {
            self.refill()?;
        }
        self.left -= 1;
        Ok(self.buffer[self.left])
    }

    #[cold]
    fn refill(&mut self) -> Result<(), StageError> {
        if self.unread == 0 {
            return Err(StageError::Scratch { path: self.path.clone(), problem: "it begins too late".to_owned() });
        }
        let count = self.buffer.len().min(self.unread as usize);
        self.unread -= count as u64;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.buffer[..count]);
        self.file
            .read_exact_at(bytes, self.unread * size_of::<T>() as u64)
            .map_err(|error| StageError::io(&self.path, "read", error))?;
        self.left = count;
        Ok(())
    }
}
