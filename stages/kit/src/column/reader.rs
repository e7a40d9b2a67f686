//! Reading a column from either end.

use super::length::BUFFER;
use super::source::Source;
use crate::{Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;

/// Elements of a [`block`](ColumnReader::block), at most.
pub const BLOCK: usize = BUFFER / 8;

/// Reads a column front to back, a part at a time.
pub struct ColumnReader<T> {
    source: Source<T>,
    /// Position in the part.
    position: usize,
    /// First element after the part.
    next: u64,
    count: u64,
}

impl<T: Pod> ColumnReader<T> {
    const FIT: () = assert!(BLOCK * size_of::<T>() <= BUFFER, "a block is of elements of at most eight bytes");

    /// Opens a column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the column does not hold whole elements.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let (source, count) = Source::open(scratch, column)?;
        Ok(Self { source, position: 0, next: 0, count })
    }

    /// Opens a column to read it from this element on.
    ///
    /// # Errors
    /// As [`Self::open`], and [`StageError::Scratch`] when it has fewer.
    pub fn open_at(scratch: &Scratch, column: Column<T>, first: u64) -> Result<Self, StageError> {
        let mut reader = Self::open(scratch, column)?;
        reader.skip(first)?;
        Ok(reader)
    }

    /// Elements not yet returned.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.count - self.next + (self.source.shown().len() - self.position) as u64
    }

    /// The next element.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
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

    /// The next elements, at most `most` of them and as many as are in sight; at least one.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
    pub fn next_slice(&mut self, most: usize) -> Result<&[T], StageError> {
        if self.position == self.source.shown().len() {
            self.refill()?;
        }
        let rest = &self.source.shown()[self.position..];
        let part = &rest[..most.min(rest.len())];
        self.position += part.len();
        Ok(part)
    }

    /// As [`Self::next_slice`], and also returns the elements after those that are already in sight; they are
    /// returned again by the next call.
    ///
    /// # Errors
    /// As [`Self::next_slice`].
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

    /// The next `count` elements where they are, without a copy: at most [`BLOCK`] of them.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] past the end.
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

    /// Brings the next elements into sight together, some of which may be in sight already.
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
        // To where a packed group ends, so that none is unpacked twice.
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

/// Reads a column back to front, a part at a time.
pub struct ReverseReader<T> {
    source: Source<T>,
    /// Elements of the part that are not returned yet; the next one is the last of them.
    left: usize,
    /// Elements before the part.
    before: u64,
}

impl<T: Pod> ReverseReader<T> {
    /// Opens a column.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the column does not hold whole elements.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let (source, before) = Source::open(scratch, column)?;
        Ok(Self { source, left: 0, before })
    }

    /// Elements not yet returned.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.before + self.left as u64
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
        Ok(self.source.shown()[self.left])
    }

    /// The elements before those returned last, at most `most` of them and as many as are in sight, at least one; in
    /// the order of the column.
    ///
    /// # Errors
    /// As [`Self::next`].
    #[inline]
    pub fn next_slice(&mut self, most: usize) -> Result<&[T], StageError> {
        if self.left == 0 {
            self.refill()?;
        }
        let end = self.left;
        self.left -= most.min(end);
        Ok(&self.source.shown()[self.left..end])
    }

    /// Skips the `count` elements before those returned last.
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
        // From where a packed group begins, so that none is unpacked twice.
        let count = (self.before - 1) % Source::<T>::MOST as u64 + 1;
        self.source.show(self.before - count, count as usize)?;
        (self.left, self.before) = (count as usize, self.before - count);
        Ok(())
    }
}
