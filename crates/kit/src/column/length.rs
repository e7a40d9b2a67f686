//! Element counts and buffer size of columns.

use crate::StageError;
use std::path::Path;

/// Bytes of a reader's or writer's buffer: large enough to hide system calls, small enough to stay in cache.
pub(super) const BUFFER: usize = 1 << 17;

/// Returns the number of elements in `bytes`.
pub(super) fn whole<T>(path: &Path, bytes: u64) -> Result<u64, StageError> {
    let width = size_of::<T>() as u64;
    if !bytes.is_multiple_of(width) {
        let problem = format!("{bytes} bytes are no whole number of {width}-byte elements");
        return Err(StageError::scratch(path, problem));
    }
    Ok(bytes / width)
}
