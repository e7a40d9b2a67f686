//! Reads a column from either end.

use super::length::BUFFER;
use super::source::Source;
use crate::{Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;

/// Maximum elements of a [`block`](ColumnReader::block).
pub const BLOCK: usize = BUFFER / 8;

/// Reads a column front to back, one buffer at a time.
pub struct ColumnReader<T> {
    source: Source<T>,
    /// Position in the buffer.
    position: usize,
    /// First element after the buffer.
    next: u64,
    count: u64,
}

impl<T: Pod> ColumnReader<T> {
    const FIT: () = assert!(BLOCK * size_of::<T>() <= BUFFER, "a block is of elements of at most eight bytes");

    /// Opens a column.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let (source, count) = Source::open(scratch, column)?;
        Ok(Self { source, position: 0, next: 0, count })
    }

    /// Opens a column if the run has it.
    pub fn if_any(scratch: &Scratch, column: Column<T>) -> Result<Option<Self>, StageError> {
        scratch.has(column).then(|| Self::open(scratch, column)).transpose()
    }

    /// Opens a column and skips to element `first`.
    pub fn open_at(scratch: &Scratch, column: Column<T>, first: u64) -> Result<Self, StageError> {
        let mut reader = Self::open(scratch, column)?;
        reader.skip(first)?;
        Ok(reader)
    }

    /// Number of elements not yet returned.
    pub fn remaining(&self) -> u64 {
        self.count - self.next + (self.source.shown().len() - self.position) as u64
    }

    /// Returns the next element.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the end.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "not an iterator: every element must be there")]
    pub fn next(&mut self) -> Result<T, StageError> {
        if self.position == self.source.shown().len() {
            self.refill()?;
        }
        let element = self.source.shown()[self.position];
        self.position += 1;
        Ok(element)
    }

    /// Returns the next element; `None` after the last.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<T>, StageError> {
        if self.remaining() == 0 { Ok(None) } else { self.next().map(Some) }
    }

    /// Returns the next elements: all buffered ones up to `most`, at least one.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the end.
    pub fn next_slice(&mut self, most: usize) -> Result<&[T], StageError> {
        if self.position == self.source.shown().len() {
            self.refill()?;
        }
        let rest = &self.source.shown()[self.position..];
        let part = &rest[..most.min(rest.len())];
        self.position += part.len();
        Ok(part)
    }

    /// As [`Self::next_slice`], but also returns the buffered elements after these, which the next call returns again.
    #[inline]
    pub fn next_slice_and_rest(&mut self, most: usize) -> Result<(&[T], &[T]), StageError> {
        if self.position == self.source.shown().len() {
            self.refill()?;
        }
        let rest = &self.source.shown()[self.position..];
        let (part, others) = rest.split_at(most.min(rest.len()));
        self.position += part.len();
        Ok((part, others))
    }

    /// Returns the next `count` elements, at most [`BLOCK`], without a copy.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the end.
    #[inline]
    pub fn block(&mut self, count: usize) -> Result<&[T], StageError> {
        let () = Self::FIT;
        if self.source.shown().len() - self.position < count {
            self.show_block(count)?;
        }
        let part = &self.source.shown()[self.position..self.position + count];
        self.position += count;
        Ok(part)
    }

    /// Refills the buffer so that it contains the next `count` elements.
    #[cold]
    fn show_block(&mut self, count: usize) -> Result<(), StageError> {
        let first = self.next - (self.source.shown().len() - self.position) as u64;
        let shown = (self.count - first).min(Source::<T>::MOST as u64);
        if shown < count as u64 {
            return Err(self.source.ended("it ends too early"));
        }
        self.source.show(first, shown as usize)?;
        (self.position, self.next) = (0, first + shown);
        Ok(())
    }

    /// Fills `out` with the next elements.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the end.
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
    /// [`StageError::Scratch`] past the end.
    pub fn append_to(&mut self, out: &mut Vec<T>, mut count: usize) -> Result<(), StageError> {
        while count > 0 {
            let part = self.next_slice(count)?;
            out.extend_from_slice(part);
            count -= part.len();
        }
        Ok(())
    }

    /// Skips the next `count` elements.
    pub fn skip(&mut self, count: u64) -> Result<(), StageError> {
        if count > self.remaining() {
            return Err(self.source.ended("it ends too early"));
        }
        let shown = self.source.shown().len();
        let held = (shown - self.position) as u64;
        if count <= held {
            self.position += count as usize;
        } else {
            (self.position, self.next) = (shown, self.next + (count - held));
        }
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), StageError> {
        // Ends at a packed group, so that no group is unpacked twice.
        let most = Source::<T>::MOST as u64;
        let count = (self.count - self.next).min(most - self.next % most);
        if count == 0 {
            return Err(self.source.ended("it ends too early"));
        }
        self.source.show(self.next, count as usize)?;
        (self.position, self.next) = (0, self.next + count);
        Ok(())
    }
}

/// Reads a column back to front, one buffer at a time.
pub struct ReverseReader<T> {
    source: Source<T>,
    /// Buffered elements not yet returned; the last of these is next.
    left: usize,
    /// Number of elements before the buffer.
    before: u64,
}

impl<T: Pod> ReverseReader<T> {
    /// Opens a column.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let (source, before) = Source::open(scratch, column)?;
        Ok(Self { source, left: 0, before })
    }

    /// Number of elements not yet returned.
    pub fn remaining(&self) -> u64 {
        self.before + self.left as u64
    }

    /// Returns the preceding element; first the last one of the column.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the beginning.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "not an iterator: every element must be there")]
    pub fn next(&mut self) -> Result<T, StageError> {
        if self.left == 0 {
            self.refill()?;
        }
        self.left -= 1;
        Ok(self.source.shown()[self.left])
    }

    /// Returns the preceding elements in column order: all buffered ones up to `most`, at least one.
    #[inline]
    pub fn next_slice(&mut self, most: usize) -> Result<&[T], StageError> {
        if self.left == 0 {
            self.refill()?;
        }
        let end = self.left;
        self.left -= most.min(end);
        Ok(&self.source.shown()[self.left..end])
    }

    /// Skips the preceding `count` elements.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the beginning.
    pub fn skip(&mut self, count: u64) -> Result<(), StageError> {
        match (count.checked_sub(self.left as u64), self.remaining().checked_sub(count)) {
            (_, None) => return Err(self.source.ended("it begins too late")),
            (None, _) => self.left -= count as usize,
            (Some(_), Some(rest)) => (self.left, self.before) = (0, rest),
        }
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), StageError> {
        if self.before == 0 {
            return Err(self.source.ended("it begins too late"));
        }
        // Starts at a packed group, so that no group is unpacked twice.
        let count = (self.before - 1) % Source::<T>::MOST as u64 + 1;
        self.source.show(self.before - count, count as usize)?;
        (self.left, self.before) = (count as usize, self.before - count);
        Ok(())
    }
}
