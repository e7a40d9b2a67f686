//! Columns for random access.

use super::file::{self, Opened};
use super::length::whole;
use super::packed::Groups;
use super::resident::Pages;
use crate::bus::{self, Known};
use crate::fs::File;
use crate::{BudgetVec, Reservation, Scratch, StageError, hint};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use memmap2::{Advice, Mmap, UncheckedAdvice};
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// Columns of so many bytes are read, not mapped: that is as quick, and reading has errors.
const SMALL: usize = 64 << 10;

/// A column mapped into memory for random access, or read if it is small; one that is in memory is looked at where it is.
/// Derefs to a slice.
///
/// The pages are those of the page cache or of the column; nothing is copied. A map is either counted against the budget
/// ([`Self::counted`], through [`lookup`](crate::array_plan::lookup)) or not ([`Self::uncounted`]); then the page
/// cache may drop its pages. A clone is another way to the same elements, for another thread.
pub struct ColumnMap<T> {
    /// Whole elements inside what `held` owns, which stay where they are while this lives.
    start: NonNull<T>,
    count: usize,
    held: Arc<(Held<T>, Option<Reservation>)>,
}

impl<T> Clone for ColumnMap<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, count: self.count, held: Arc::clone(&self.held) }
    }
}

/// What holds the elements.
enum Held<T> {
    /// The first goes before the map does.
    Mapped {
        _known: Option<Known>,
        map: Mmap,
    },
    /// A column that is read.
    Read(Vec<T>),
    /// An array that is not written any more.
    Array(BudgetVec<T>),
    Memory(Arc<Pages>),
}

// SAFETY: the elements belong to `held`, which all clones keep, and are only read; they are plain data, which any thread may
// read, and the last clone may drop what holds them on any thread.
unsafe impl<T: Pod> Send for ColumnMap<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for ColumnMap<T> {}

impl<T: Pod> ColumnMap<T> {
    /// An empty column.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Held::Read(Vec::new()), None)
    }

    /// Maps a column whose pages are not counted against the budget: for small columns, and for columns of which few
    /// pages are accessed. A packed file is read whole, so of a column with an entry per node or edge that may have a file
    /// take [`ColumnPoints`](crate::ColumnPoints).
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the column does not hold whole elements.
    pub fn uncounted(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        Self::open(scratch, column, false, None)
    }

    /// Maps a column whose bytes stay reserved while the map exists; with `is_read` they are read, so that they stay in memory
    /// when other pages take the place of those of the page cache. What is packed is read in any case.
    ///
    /// # Errors
    /// As [`Self::uncounted`].
    pub(crate) fn counted(
        scratch: &Scratch,
        column: Column<T>,
        is_read: bool,
        reservation: Reservation,
    ) -> Result<Self, StageError> {
        Self::open(scratch, column, is_read, Some(reservation))
    }

    /// The elements of an array that is not written any more.
    pub(crate) fn of_array(array: BudgetVec<T>) -> Self {
        Self::of(Held::Array(array), None)
    }

    /// Looks at what holds the elements: whole ones, from a place that suits them.
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
                file.read_exact_at(bytes, 0).map_err(|error| StageError::io(&path, "read", error))?;
            }
            Opened::Packed(packed) => Groups::new(packed).read(0, bytes)?,
        }
        Ok(Self::of(Held::Read(all), reservation))
    }

    /// Maps a file. What is counted has room, so it is read at once, in large pieces; of anything else as few pages as are
    /// accessed.
    fn map(path: &Path, file: &File, is_counted: bool) -> Result<Held<T>, StageError> {
        // SAFETY: the file lies in the run's own scratch folder, is complete, and no stage changes or truncates a
        // column that another one maps, so the mapped bytes stay as they are while the map lives. Others cannot look into the folder; where the file
        // is cut off nonetheless, `bus` ends the process.
        let map = file
            .before_map()
            .and_then(|()| unsafe { Mmap::map(file.as_std()) })
            .map_err(|error| StageError::io(path, "map", error))?;
        // Advice is a hint; without it the map is only slower.
        if is_counted {
            #[cfg(target_os = "linux")]
            let _ = map.advise(Advice::PopulateRead);
        }
        let _ = map.advise(Advice::Random);
        Ok(Held::Mapped { _known: bus::handle(&map, path), map })
    }

    /// Drops the pages that were accessed so far: they no longer count as resident and are read again on the next
    /// access. For uncounted maps of which many pages are accessed.
    pub fn release(&self) {
        if let Held::Mapped { map, .. } = &self.held.0 {
            // SAFETY: the map is of a file and nobody writes through it, so its pages come back with the same bytes.
            // The result does not matter: the pages would only stay a while longer.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

impl<T> Deref for ColumnMap<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `of` took both from a slice of what `held` owns, which is neither moved nor changed while this lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}
