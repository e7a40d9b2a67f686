//! Access to a table file for the Parquet library.
//!
//! The library treats the end of a file as an empty read, and skips whatever a damaged header claims: two billion
//! elements, with a system call each. Here the end of a file is an error, and so is a length beyond it, before memory
//! is allocated.
//!
//! Objects of a store are read by [windows](crate::windows).

use crate::checked::{Checked, Opened};
use crate::windows::Windows;
use bytes::Bytes;
use heaplake_kit::fs::File;
use heaplake_kit::storage::{self, Stored};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

/// An open table file. Its readers do not share a position.
#[derive(Clone)]
pub struct ParquetFile {
    bytes: Lying,
    length: u64,
    /// Verifies the bytes of pages.
    checked: Option<Arc<Checked>>,
}

/// Location of the bytes.
#[derive(Clone)]
enum Lying {
    File(Arc<File>),
    Object(Arc<Windows>),
    Whole(Bytes),
}

impl ParquetFile {
    /// Wraps an open file.
    pub(crate) fn new(file: Stored) -> io::Result<Self> {
        let length = file.length()?;
        let bytes = match file {
            Stored::File(file) => Lying::File(Arc::new(file)),
            Stored::Object(ahead) => Lying::Object(Arc::new(Windows::new(ahead.object().clone()))),
            Stored::Whole(whole) => Lying::Whole(whole.into_inner()),
        };
        Ok(Self { bytes, length, checked: None })
    }

    /// Wraps an open file of this length.
    pub fn of_file(file: Arc<File>, length: u64) -> Self {
        Self { bytes: Lying::File(file), length, checked: None }
    }

    /// Adds the end of an object, which was read already.
    pub(crate) fn with_end(self, end: Option<Bytes>) -> Self {
        if let (Lying::Object(windows), Some(end)) = (&self.bytes, end) {
            windows.has_end(end);
        }
        self
    }

    /// Enables verification of pages as they are read; reads the end of the file.
    pub(crate) fn checked(self) -> Result<(Self, Arc<Checked>)> {
        let mut bytes = Checked::first_bytes(self.length);
        loop {
            let tail = self.get_bytes(self.length - bytes, bytes as usize)?;
            match Checked::open(&tail, self.length).map_err(ParquetError::General)? {
                Opened::Needs(more) => bytes = more,
                Opened::Done(checked) => {
                    let read = |at, bytes| self.get_bytes(at, bytes).map_err(|error| error.to_string());
                    checked.check_headers(read).map_err(ParquetError::General)?;
                    let checked = Arc::new(checked);
                    return Ok((Self { checked: Some(Arc::clone(&checked)), ..self }, checked));
                }
            }
        }
    }

    /// Announces ranges that will be read sequentially, sorted by start, so that a store serves them in few requests.
    pub(crate) fn will_read(&self, parts: Vec<Range<u64>>) {
        if let Lying::Object(windows) = &self.bytes {
            windows.will_read(parts);
        }
    }

    /// As a clone, but in a store with its own windows: its reader does not share them with others.
    pub(crate) fn anew(&self) -> Self {
        let bytes = match &self.bytes {
            Lying::Object(windows) => Lying::Object(Arc::new(Windows::new(windows.object().clone()))),
            other => other.clone(),
        };
        Self { bytes, ..self.clone() }
    }

    /// Reads parts of the file, and verifies the pages in them. Those of an object are fetched at once.
    pub(crate) fn parts(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let length = |range: &Range<u64>| usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let Lying::Object(windows) = &self.bytes else {
            return ranges.iter().map(|range| self.get_bytes(range.start, length(range))).collect();
        };
        let store = storage::store()?;
        let fetches: Vec<_> = ranges.iter().map(|range| store.fetch(windows.object(), range.clone())).collect();
        let mut parts = Vec::with_capacity(ranges.len());
        for (range, fetch) in ranges.iter().zip(&fetches) {
            let part = storage::wait(fetch)?;
            if let Some(checked) = &self.checked {
                checked.check(range.start, &part).map_err(ParquetError::General)?;
            }
            parts.push(part);
        }
        Ok(parts)
    }

    /// Returns the last error of the store, which explains a failed read.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        match &self.bytes {
            Lying::File(_) | Lying::Whole(_) => None,
            Lying::Object(windows) => windows.failure(),
        }
    }

    fn read_exact_at(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        match &self.bytes {
            Lying::File(file) => file.read_exact_at(to, at),
            Lying::Object(windows) => windows.read_exact_at(to, at),
            Lying::Whole(bytes) => {
                let from = bytes.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or_default();
                to.copy_from_slice(from.get(..to.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ParquetFile {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(From { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            let there = self.length;
            return Err(ParquetError::EOF(format!("expected {length} bytes at {start}, found a file of {there}")));
        }
        let bytes = match &self.bytes {
            Lying::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, start)?;
                bytes.into()
            }
            Lying::Object(windows) => windows.bytes(start, length)?,
            // Checked above against the length.
            Lying::Whole(bytes) => bytes.slice(start as usize..start as usize + length),
        };
        if let Some(checked) = &self.checked {
            checked.check(start, &bytes).map_err(ParquetError::General)?;
        }
        Ok(bytes)
    }
}

/// A reader that starts at some position.
pub struct From {
    file: ParquetFile,
    at: u64,
}

impl Read for From {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.file.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = left.min(to.len());
        if count == 0 && !to.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_exact_at(&mut to[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [1, 2, 3, 4]).unwrap();
        let source = ParquetFile::new(Stored::open(&path).unwrap()).unwrap();
        assert_eq!((source.len(), source.get_bytes(1, 3).unwrap().to_vec()), (4, vec![2, 3, 4]));
        for (start, length) in [(2, 3), (4, 1), (9, 1), (u64::MAX, 2), (0, usize::MAX)] {
            assert!(source.get_bytes(start, length).is_err(), "{start} {length}");
        }
        let mut bytes = [0; 2];
        let mut reader = source.get_read(2).unwrap();
        reader.read_exact(&mut bytes).unwrap();
        assert_eq!((bytes, reader.read(&mut bytes).unwrap_err().kind()), ([3, 4], io::ErrorKind::UnexpectedEof));
    }
}
