//! Opens the file of a column, packed or plain.

use super::length::whole;
use super::packed::{Packed, width_of};
use crate::fs::File;
use crate::{IoAt, Scratch, StageError};
use heaplake_schemas::scratch::Column;
use std::path::Path;
use std::sync::Arc;

/// An opened column file.
pub(crate) enum Opened {
    /// Elements in their memory layout, and their number.
    Plain(File, u64),
    Packed(Packed),
}

impl Opened {
    /// Number of elements.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Plain(_, count) => *count,
            Self::Packed(packed) => packed.len(),
        }
    }
}

/// Opens the file of a column.
///
/// # Errors
/// [`StageError::Scratch`] when its length differs from the recorded one, or it is damaged.
pub(crate) fn open<T>(scratch: &Scratch, column: Column<T>) -> Result<Opened, StageError> {
    let path = scratch.path(column);
    let file = File::open(&path).at(&path, "open")?;
    let bytes = length(scratch, &path, &file)?;
    match width_of(column) {
        Some(width) => Packed::open(&path, Arc::new(file), bytes, width).map(Opened::Packed),
        None => whole::<T>(&path, bytes).map(|count| Opened::Plain(file, count)),
    }
}

/// Returns the bytes of a column's unpacked elements, in memory or in a file; `None` if it does not exist or is
/// damaged.
pub(crate) fn bytes<T>(scratch: &Scratch, column: Column<T>) -> Option<u64> {
    let path = scratch.path(column);
    if width_of(column).is_none() || scratch.is_resident(column) {
        return scratch.length(&path);
    }
    let file = File::open(&path).ok()?;
    let count = Packed::count(&path, &file, file.metadata().ok()?.len()).ok()?;
    count.checked_mul(size_of::<T>() as u64)
}

/// Returns the bytes of a column's packed file; `None` if it is plain or in memory.
pub(crate) fn packed_bytes<T>(scratch: &Scratch, column: Column<T>) -> Option<u64> {
    width_of(column).filter(|_| !scratch.is_resident(column))?;
    scratch.length(&scratch.path(column))
}

/// Returns the length of a file after checking it against the recorded length.
pub(crate) fn length(scratch: &Scratch, path: &Path, file: &File) -> Result<u64, StageError> {
    let bytes = file.metadata().at(path, "examine")?.len();
    scratch.check_length(path, bytes)?;
    Ok(bytes)
}
