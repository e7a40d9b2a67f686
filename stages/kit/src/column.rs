//! Column files: fixed-width elements without a header, read and written sequentially, or mapped for random access.

use crate::bus;
use crate::fs::File;
use crate::{Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use memmap2::{Advice, Mmap, UncheckedAdvice};
use std::io::{Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Bytes that a reader or writer buffers: large enough to hide system calls, small enough to stay in cache.
const BUFFER: usize = 1 << 17;

/// Columns of so many bytes are read, not mapped: that is as quick, and reading has errors.
const SMALL: usize = 64 << 10;

/// Writes a column front to back.
pub struct ColumnWriter<T> {
    path: PathBuf,
    file: File,
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
        let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        Ok(Self { path, file, buffer: Vec::with_capacity(Self::CAPACITY), written: 0 })
    }

    /// Appends to a column that an earlier writer finished.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold whole elements.
    pub fn append(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let path = scratch.path(column);
        let file = File::append(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let written = elements::<T>(scratch, &path, &file)?;
        Ok(Self { path, file, buffer: Vec::with_capacity(Self::CAPACITY), written })
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
    /// [`StageError::Io`].
    pub fn finish(mut self) -> Result<u64, StageError> {
        self.flush()?;
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
        self.written += elements.len() as u64;
        Ok(())
    }
}

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

/// A column mapped into memory for random access, or read if it is small. Derefs to a slice.
///
/// The pages are those of the page cache; nothing is copied. A map is either counted against the budget
/// ([`Self::counted`], through [`lookup`](crate::array_plan::lookup)) or not ([`Self::uncounted`]); then the page
/// cache may drop its pages.
pub struct ColumnMap<T> {
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
        Self { map: None, small: Vec::new(), _reservation: None, element: PhantomData }
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
            return Ok(Self { map: None, small, _reservation: reservation, element: PhantomData });
        }
        bus::handle();
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
            Some(map)
        };
        Ok(Self { map, small: Vec::new(), _reservation: reservation, element: PhantomData })
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

/// Number of whole elements in a file.
fn elements<T>(scratch: &Scratch, path: &Path, file: &File) -> Result<u64, StageError> {
    let bytes = file.metadata().map_err(|error| StageError::io(path, "examine", error))?.len();
    scratch.check_length(path, bytes)?;
    let width = size_of::<T>() as u64;
    if bytes % width != 0 {
        let problem = format!("{bytes} bytes are no whole number of {width}-byte elements");
        return Err(StageError::Scratch { path: path.to_owned(), problem });
    }
    Ok(bytes / width)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: Column<u32> = Column::new("numbers");

    #[test]
    fn round_trip_through_all_readers() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let numbers: Vec<u32> = (0..200_000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
        writer.extend(&numbers[..7]).unwrap();
        numbers[7..1000].iter().for_each(|&n| writer.push(n).unwrap());
        writer.extend(&numbers[1000..150_000]).unwrap();
        assert_eq!(writer.finish().unwrap(), 150_000);
        let mut writer = ColumnWriter::append(&scratch, NUMBERS).unwrap();
        writer.extend(&numbers[150_000..]).unwrap();
        assert_eq!(writer.finish().unwrap(), 200_000);

        assert_eq!(&*ColumnMap::open(&scratch, NUMBERS, None).unwrap(), &numbers[..]);
        let mut reader = ColumnReader::open(&scratch, NUMBERS).unwrap();
        assert_eq!(reader.next().unwrap(), numbers[0]);
        reader.skip(99_999).unwrap();
        let mut rest = vec![0; 100_000];
        reader.read_into(&mut rest).unwrap();
        assert_eq!(rest, &numbers[100_000..]);
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));

        let mut reader = ReverseReader::open(&scratch, NUMBERS).unwrap();
        for &number in numbers.iter().rev() {
            assert_eq!(reader.next().unwrap(), number);
        }
        assert!(matches!(reader.next(), Err(StageError::Scratch { .. })));
    }

    #[test]
    fn empty_and_torn_columns() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        ColumnWriter::create(&scratch, NUMBERS).unwrap().finish().unwrap();
        assert!(ColumnMap::open(&scratch, NUMBERS, None).unwrap().is_empty());
        std::fs::write(scratch.path(NUMBERS), [0; 7]).unwrap();
        assert!(matches!(ColumnReader::open(&scratch, NUMBERS), Err(StageError::Scratch { .. })));
    }
}
