//! Columns for random access.

use super::file::{self, Opened};
use super::length::whole;
use super::packed::Groups;
use super::resident::Pages;
use crate::bus::{self, Known};
use crate::fs::File;
use crate::{BudgetVec, IoAt, Reservation, Scratch, StageError, hint};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use memmap2::{Advice, Mmap, UncheckedAdvice};
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// Columns up to this many bytes are read, not mapped: as fast, and read errors are reported.
const SMALL: usize = 64 << 10;

/// A column mapped for random access, or read if it is small; a column in memory is borrowed. Derefs to a slice.
///
/// The pages are those of the page cache or of the column; nothing is copied. A map is either counted against the
/// budget ([`Self::counted`], through [`lookup`](crate::array_plan::lookup)) or not ([`Self::uncounted`]); then the
/// page cache may evict its pages. A clone shares the elements with another thread.
pub struct ColumnMap<T> {
    /// Points into memory owned by `held`, which does not move during this map's life.
    start: NonNull<T>,
    count: usize,
    held: Arc<(Held<T>, Option<Reservation>)>,
}

impl<T> Clone for ColumnMap<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, count: self.count, held: Arc::clone(&self.held) }
    }
}

/// Owner of the elements.
enum Held<T> {
    /// `_known` is dropped before the map.
    Mapped {
        _known: Option<Known>,
        map: Mmap,
    },
    /// A column read into memory.
    Read(Vec<T>),
    /// A frozen array.
    Array(BudgetVec<T>),
    Memory(Arc<Pages>),
}

// SAFETY: the elements belong to `held`, which all clones keep alive, and are only read; they are plain data, and the
// last clone may drop their owner on any thread.
unsafe impl<T: Pod> Send for ColumnMap<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for ColumnMap<T> {}

impl<T: Pod> ColumnMap<T> {
    /// An empty column.
    pub fn empty() -> Self {
        Self::of(Held::Read(Vec::new()), None)
    }

    /// Maps a column without counting its pages against the budget: for small columns, and for columns with few
    /// accesses. A packed file is read whole, so for a column per node or edge use
    /// [`ColumnPoints`](crate::ColumnPoints).
    pub fn uncounted(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        Self::open(scratch, column, false, None)
    }

    /// Maps a column without counting, if the run has it.
    pub fn if_any(scratch: &Scratch, column: Column<T>) -> Result<Option<Self>, StageError> {
        scratch.has(column).then(|| Self::uncounted(scratch, column)).transpose()
    }

    /// Maps a column with a reservation held as long as the map. `is_read` reads it, so that other pages of the page
    /// cache cannot evict it. Packed files are always read.
    pub(crate) fn counted(
        scratch: &Scratch,
        column: Column<T>,
        is_read: bool,
        reservation: Reservation,
    ) -> Result<Self, StageError> {
        Self::open(scratch, column, is_read, Some(reservation))
    }

    /// Wraps the elements of a frozen array.
    pub(crate) fn of_array(array: BudgetVec<T>) -> Self {
        Self::of(Held::Array(array), None)
    }

    /// Points at the elements of their owner: whole and aligned.
    fn of(held: Held<T>, reservation: Option<Reservation>) -> Self {
        let elements: &[T] = match &held {
            // A map starts on a page boundary.
            Held::Mapped { map, .. } => bytemuck::cast_slice(map),
            Held::Read(all) => all,
            Held::Array(all) => all,
            Held::Memory(pages) => bytemuck::cast_slice(pages.bytes()),
        };
        let (start, count) = (NonNull::from(elements).cast(), elements.len());
        Self { start, count, held: Arc::new((held, reservation)) }
    }

    fn open(
        scratch: &Scratch,
        column: Column<T>,
        is_read: bool,
        reservation: Option<Reservation>,
    ) -> Result<Self, StageError> {
        let path = scratch.path(column);
        if let Some(pages) = scratch.residents().and_then(|residents| residents.get(&path)) {
            whole::<T>(&path, pages.bytes().len() as u64)?;
            return Ok(Self::of(Held::Memory(pages), reservation));
        }
        let opened = file::open(scratch, column)?;
        let count = opened.count() as usize;
        if let Opened::Plain(file, _) = &opened
            && !is_read
            && count * size_of::<T>() > SMALL
        {
            return Self::map(&path, file, reservation.is_some()).map(|held| Self::of(held, reservation));
        }
        let mut all = Vec::with_capacity(count);
        hint::large_pages(all.spare_capacity_mut());
        all.resize(count, T::zeroed());
        let bytes = bytemuck::cast_slice_mut(&mut all);
        match opened {
            Opened::Plain(file, _) => {
                file.read_exact_at(bytes, 0).at(&path, "read")?;
            }
            Opened::Packed(packed) => Groups::new(packed).read(0, bytes)?,
        }
        Ok(Self::of(Held::Read(all), reservation))
    }

    /// Maps a file. Counted maps are populated at once, in large reads; others page by page on access.
    fn map(path: &Path, file: &File, is_counted: bool) -> Result<Held<T>, StageError> {
        // SAFETY: the file lies in the run's private scratch folder and is complete, and no stage changes or truncates
        // a column that another one maps, so the mapped bytes do not change. If the file is truncated nonetheless,
        // `bus` ends the process.
        let map = file.before_map().and_then(|()| unsafe { Mmap::map(file.as_std()) }).at(path, "map")?;
        // Advice is a hint; without it the map is only slower.
        if is_counted {
            #[cfg(target_os = "linux")]
            let _ = map.advise(Advice::PopulateRead);
        }
        let _ = map.advise(Advice::Random);
        Ok(Held::Mapped { _known: bus::handle(&map, path), map })
    }

    /// Drops the accessed pages from the resident set; the next access reads them again. For uncounted maps with many
    /// accesses.
    pub fn release(&self) {
        if let Held::Mapped { map, .. } = &self.held.0 {
            // SAFETY: the map is file-backed and read-only, so dropped pages come back with the same bytes. A failure
            // only delays their release.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

impl<T> Deref for ColumnMap<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `of` took pointer and count from a slice owned by `held`, which is neither moved nor changed
        // meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}
