//! The file of a column, to be read: packed, or as it is in memory.

use super::length::whole;
use super::packed::{Packed, width_of};
use crate::fs::File;
use crate::{Scratch, StageError};
use heaplake_schemas::scratch::Column;
use std::path::Path;
use std::sync::Arc;

/// A column's file that was opened.
pub enum Opened {
    /// Elements as they are in memory, and how many.
    Plain(File, u64),
    Packed(Packed),
}

impl Opened {
    /// Number of elements.
    pub fn count(&self) -> u64 {
        match self {
            Self::Plain(_, count) => *count,
            Self::Packed(packed) => packed.len(),
        }
    }
}

/// Opens the file of a column.
///
/// # Errors
/// [`StageError::Io`], or [`StageError::Scratch`] when it is shorter or longer than it was written, or damaged.
pub fn open<T>(scratch: &Scratch, column: Column<T>) -> Result<Opened, StageError> {
    let path = scratch.path(column);
    let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
    let bytes = length(scratch, &path, &file)?;
    match width_of(column) {
        Some(width) => Packed::open(&path, Arc::new(file), bytes, width).map(Opened::Packed),
        None => whole::<T>(&path, bytes).map(|count| Opened::Plain(file, count)),
    }
}

/// Bytes of the elements of a column, in memory or in a file; nothing if there is no whole one.
pub fn bytes<T>(scratch: &Scratch, column: Column<T>) -> Option<u64> {
    let path = scratch.path(column);
    if width_of(column).is_none() || scratch.is_resident(column) {
        return scratch.length(&path);
    }
    let file = File::open(&path).ok()?;
    let count = Packed::count(&path, &file, file.metadata().ok()?.len()).ok()?;
    count.checked_mul(size_of::<T>() as u64)
}

/// Bytes of the file of a column, if it is packed and not in memory.
pub fn packed_bytes<T>(scratch: &Scratch, column: Column<T>) -> Option<u64> {
    width_of(column).filter(|_| !scratch.is_resident(column))?;
    scratch.length(&scratch.path(column))
}

/// Length of a file, which must be that in which it was left.
pub fn length(scratch: &Scratch, path: &Path, file: &File) -> Result<u64, StageError> {
    let bytes = file.metadata().map_err(|error| StageError::io(path, "examine", error))?.len();
    scratch.check_length(path, bytes)?;
    Ok(bytes)
}
