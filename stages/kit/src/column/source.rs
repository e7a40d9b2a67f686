//! Where the elements of a column come from: a window into its memory, or a buffer that is filled from its file.

use super::file::{self, Opened};
use super::length::{BUFFER, whole};
use super::packed::Groups;
use super::resident::{ALIGNMENT, Pages};
use crate::fs::File;
use crate::{Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

/// A column, and the part of it that is in sight.
pub(super) struct Source<T> {
    path: PathBuf,
    from: From<T>,
    /// The part in sight: in the buffer or in the pages of `from`, which stay where they are while this lives.
    start: NonNull<T>,
    count: usize,
}

enum From<T> {
    File(File, Vec<T>),
    Packed(Box<Groups>, Vec<T>),
    Memory(Arc<Pages>),
}

// SAFETY: `start` points into what `from` owns, which is only read while it is in sight; and elements are plain data,
// which any thread may read.
unsafe impl<T: Pod> Send for Source<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Source<T> {}

impl<T: Pod> Source<T> {
    const ALIGNED: () = assert!(align_of::<T>() <= ALIGNMENT, "columns in memory are aligned to eight bytes");

    /// Opens a column, with nothing in sight; and the number of its elements.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when it does not hold whole elements.
    pub fn open(scratch: &Scratch, column: Column<T>) -> Result<(Self, u64), StageError> {
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

    /// Elements that can be in sight at once: those of a group of a packed file, if they begin where one does.
    pub const MOST: usize = BUFFER / size_of::<T>();

    /// Brings elements into sight: at most [`Self::MOST`] of them, none past the end.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when a packed file is damaged.
    #[cold]
    pub fn show(&mut self, first: u64, count: usize) -> Result<(), StageError> {
        let shown: &[T] = match &mut self.from {
            From::Memory(pages) => {
                let width = size_of::<T>();
                bytemuck::cast_slice(&pages.bytes()[first as usize * width..(first as usize + count) * width])
            }
            From::File(file, buffer) => {
                let part = &mut buffer[..count];
                file.read_exact_at(bytemuck::cast_slice_mut(part), first * size_of::<T>() as u64)
                    .map_err(|error| StageError::io(&self.path, "read", error))?;
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

    /// What is in sight.
    #[inline]
    pub fn shown(&self) -> &[T] {
        // SAFETY: `show` took both from a slice of what `from` owns. The buffer is neither moved nor written to before
        // `show` is called again, the pages of a finished column never are. At first the count is 0.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }

    /// The error of reading past one of the ends.
    #[cold]
    pub fn ended(&self, problem: &str) -> StageError {
        StageError::Scratch { path: self.path.clone(), problem: problem.to_owned() }
    }
}
