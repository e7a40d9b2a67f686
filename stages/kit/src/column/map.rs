//! Columns for random access.

use super::length::elements;
use crate::bus::{self, Known};
use crate::fs::File;
use crate::{Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use memmap2::{Advice, Mmap, UncheckedAdvice};
use std::marker::PhantomData;
use std::ops::Deref;

/// Columns of so many bytes are read, not mapped: that is as quick, and reading has errors.
const SMALL: usize = 64 << 10;

/// A column mapped into memory for random access, or read if it is small. Derefs to a slice.
///
/// The pages are those of the page cache; nothing is copied. A map is either counted against the budget
/// ([`Self::counted`], through [`lookup`](crate::array_plan::lookup)) or not ([`Self::uncounted`]); then the page
/// cache may drop its pages.
pub struct ColumnMap<T> {
    /// Goes before the map does.
    _known: Option<Known>,
    map: Option<Mmap>,
    /// A small column, which is read.
    small: Vec<T>,
    _reservation: Option<Reservation>,
    element: PhantomData<T>,
}

impl<T: Pod> ColumnMap<T> {
    /// An empty column.
    #[must_use]
    pub fn empty() -> Self {
        Self { _known: None, map: None, small: Vec::new(), _reservation: None, element: PhantomData }
    }

    /// Maps a column whose pages are not counted against the budget: for small columns, and for columns of which few
    /// pages are accessed.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold whole elements.
    pub fn uncounted(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        Self::open(scratch, column, None)
    }

    /// Maps a column whose bytes stay reserved while the map exists.
    ///
    /// # Errors
    /// As [`Self::uncounted`].
    pub(crate) fn counted(scratch: &Scratch, column: Column<T>, reservation: Reservation) -> Result<Self, StageError> {
        Self::open(scratch, column, Some(reservation))
    }

    fn open(scratch: &Scratch, column: Column<T>, reservation: Option<Reservation>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let count = elements::<T>(scratch, &path, &file)? as usize;
        if count * size_of::<T>() <= SMALL {
            let mut small = vec![T::zeroed(); count];
            file.read_exact_at(bytemuck::cast_slice_mut(&mut small), 0)
                .map_err(|error| StageError::io(&path, "read", error))?;
            return Ok(Self { _known: None, map: None, small, _reservation: reservation, element: PhantomData });
        }
        let map = {
            // SAFETY: the file lies in the run's own scratch folder, is complete, and no stage changes or truncates a
            // column that another one maps, so the mapped bytes stay as they are while the map lives. Others cannot look into the folder; where the file
            // is cut off nonetheless, `bus` ends the process.
            let map = file
                .before_map()
                .and_then(|()| unsafe { Mmap::map(file.as_std()) })
                .map_err(|error| StageError::io(&path, "map", error))?;
            // Advice is a hint; without it the map is only slower.
            let _ = map.advise(Advice::Random);
            map
        };
        let known = bus::handle(&map, &path);
        Ok(Self { _known: known, map: Some(map), small: Vec::new(), _reservation: reservation, element: PhantomData })
    }

    /// Drops the pages that were accessed so far: they no longer count as resident and are read again on the next
    /// access. For uncounted maps of which many pages are accessed.
    pub fn release(&self) {
        if let Some(map) = &self.map {
            // SAFETY: the map is of a file and nobody writes through it, so its pages come back with the same bytes.
            // The result does not matter: the pages would only stay a while longer.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

impl<T: Pod> Deref for ColumnMap<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // A map starts on a page boundary and holds whole elements, so the cast cannot fail.
        self.map.as_ref().map_or(&self.small, |map| bytemuck::cast_slice(map))
    }
}
