//! Whole-file reads with a maximum length, checked before the allocation.

use std::fmt;
use std::io::{self, Read};

/// Maximum bytes of a document about one run. Real ones have some 10 KB; one with 100,000 findings has some 30 MB.
pub const DOCUMENT_BYTES: u64 = 64 << 20;
/// Maximum bytes of a document that lists runs (rollup, comparison, trend), at some hundred bytes per run.
pub const LIST_BYTES: u64 = 256 << 20;

/// A file or an object exceeds the maximum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Its length, as far as known.
    pub bytes: u64,
    /// The maximum length, bytes.
    pub most: u64,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected at most {} bytes, found {}", self.most, self.bytes)
    }
}

impl std::error::Error for TooLong {}

impl TooLong {
    /// Checks a length against the maximum.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it exceeds the maximum.
    pub fn check(bytes: u64, most: u64) -> io::Result<()> {
        if bytes > most { Err(io::Error::new(io::ErrorKind::InvalidData, Self { bytes, most })) } else { Ok(()) }
    }

    /// True if the error is a [`TooLong`].
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

/// Reads all of a file of `bytes` bytes, if at most `most`. Reading stops at `most` if the file grows meanwhile.
///
/// # Errors
/// [`TooLong`] if it exceeds `most`.
pub(super) fn content(file: impl Read, bytes: u64, most: u64) -> io::Result<Vec<u8>> {
    TooLong::check(bytes, most)?;
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    TooLong::check(content.len() as u64, most)?;
    Ok(content)
}
