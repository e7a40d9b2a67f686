//! Source of a column's elements: its memory, or a buffer filled from its file.

use super::file::{self, Opened};
use super::length::{BUFFER, whole};
use super::packed::Groups;
use super::resident::{ALIGNMENT, Pages};
use crate::fs::File;
use crate::{IoAt, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

/// A column and its current window.
pub(super) struct Source<T> {
    path: PathBuf,
    from: From<T>,
    /// The current window: points into the buffer or the pages of `from`, which do not move meanwhile.
    start: NonNull<T>,
    count: usize,
}

enum From<T> {
    File(File, Vec<T>),
    Packed(Box<Groups>, Vec<T>),
    Memory(Arc<Pages>),
}

// SAFETY: `start` points into memory owned by `from`, which is only read while the window exists; elements are plain
// data.
unsafe impl<T: Pod> Send for Source<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Source<T> {}

impl<T: Pod> Source<T> {
    const ALIGNED: () = assert!(align_of::<T>() <= ALIGNMENT, "columns in memory are aligned to eight bytes");

    /// Opens a column with an empty window; returns the number of its elements, too.
    pub(super) fn open(scratch: &Scratch, column: Column<T>) -> Result<(Self, u64), StageError> {
        let () = Self::ALIGNED;
        let path = scratch.path(column);
        let (from, count) = match scratch.residents().and_then(|residents| residents.get(&path)) {
            Some(pages) => {
                let count = whole::<T>(&path, pages.bytes().len() as u64)?;
                (From::Memory(pages), count)
            }
            None => {
                let opened = file::open(scratch, column)?;
                let count = opened.count();
                let buffer = vec![T::zeroed(); Self::MOST.min(count as usize)];
                match opened {
                    Opened::Plain(file, _) => (From::File(file, buffer), count),
                    Opened::Packed(packed) => (From::Packed(Box::new(Groups::new(packed)), buffer), count),
                }
            }
        };
        Ok((Self { path, from, start: NonNull::dangling(), count: 0 }, count))
    }

    /// Maximum elements of a window: those of one packed group.
    pub(super) const MOST: usize = BUFFER / size_of::<T>();

    /// Moves the window: at most [`Self::MOST`] elements, none past the end.
    #[cold]
    pub(super) fn show(&mut self, first: u64, count: usize) -> Result<(), StageError> {
        let shown: &[T] = match &mut self.from {
            From::Memory(pages) => {
                let width = size_of::<T>();
                bytemuck::cast_slice(&pages.bytes()[first as usize * width..(first as usize + count) * width])
            }
            From::File(file, buffer) => {
                let part = &mut buffer[..count];
                file.read_exact_at(bytemuck::cast_slice_mut(part), first * size_of::<T>() as u64)
                    .at(&self.path, "read")?;
                part
            }
            From::Packed(groups, buffer) => {
                let part = &mut buffer[..count];
                groups.read(first, bytemuck::cast_slice_mut(part))?;
                part
            }
        };
        self.start = NonNull::from(shown).cast();
        self.count = shown.len();
        Ok(())
    }

    /// The elements of the window.
    #[inline]
    pub(super) fn shown(&self) -> &[T] {
        // SAFETY: `show` took pointer and count from a slice owned by `from`. The buffer is neither moved nor written
        // before the next `show`; pages of a finished column never are. Initially the count is 0.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }

    /// Creates the error of reading past an end.
    #[cold]
    pub(super) fn ended(&self, problem: &str) -> StageError {
        StageError::scratch(&self.path, problem)
    }
}
