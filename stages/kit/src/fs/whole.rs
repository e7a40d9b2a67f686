//! Files that are read as a whole, up to a length that is known before anything is allocated.

use std::fmt;
use std::io::{self, Read};

/// Bytes of the longest document about one run that is read. Those of real runs have some ten kilobytes, and one with a hundred
/// thousand findings some thirty megabytes.
pub const DOCUMENT_BYTES: u64 = 64 << 20;
/// Bytes of the longest document that lists runs: a rollup, a comparison, a trend, which have some hundred bytes for each.
pub const LIST_BYTES: u64 = 256 << 20;

/// A file or an object is longer than what is read of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Its length, as far as that is known.
    pub bytes: u64,
    /// Bytes that are read at most.
    pub most: u64,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected at most {} bytes, found {}", self.most, self.bytes)
    }
}

impl std::error::Error for TooLong {}

impl TooLong {
    /// The error of one that has so many bytes, of which so many are read at most; nothing where it is short enough.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where it is too long.
    pub fn check(bytes: u64, most: u64) -> io::Result<()> {
        if bytes > most { Err(io::Error::new(io::ErrorKind::InvalidData, Self { bytes, most })) } else { Ok(()) }
    }

    /// Whether an error is this one.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

/// All that is read from a file that has so many bytes, if these are at most so many. One that grows meanwhile is left at the
/// limit.
///
/// # Errors
/// [`TooLong`], and those of the system.
pub fn content(file: impl Read, bytes: u64, most: u64) -> io::Result<Vec<u8>> {
    TooLong::check(bytes, most)?;
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    TooLong::check(content.len() as u64, most)?;
    Ok(content)
}
