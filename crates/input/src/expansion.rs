//! Limits on decompression: bombs and nested compression are refused.
//!
//! A decompressed content may be [`MOST_RATIO`] times as large as the part of its file read so far, once it exceeds
//! [`FREE`]. Real snapshots shrink 5 to 35 times, and gzip cannot exceed 1,032: beyond the limit the content is nearly
//! all one repeated byte. The limit can be lifted for such a heap.

use crate::magic::is_zstd;
use heaplake_kit::StageError;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum ratio of content to file.
pub(crate) const MOST_RATIO: u64 = 1000;

/// Bytes of content that are always allowed.
pub(crate) const FREE: u64 = 64 << 20;

/// Returns the compression of a content by its first bytes.
fn compression(beginning: &[u8]) -> Option<&'static str> {
    match beginning {
        [0x1f, 0x8b, 8, ..] => Some("gzip"),
        _ => is_zstd(beginning).then_some("zstd"),
    }
}

/// Checks the output of a decoder.
pub(crate) struct Expansion {
    /// Bytes of the file read so far.
    stored: Arc<AtomicU64>,
    /// True if there is no limit.
    lifted: Arc<AtomicBool>,
    content: u64,
}

impl Expansion {
    pub(crate) fn new(stored: Arc<AtomicU64>, lifted: Arc<AtomicBool>) -> Self {
        Self { stored, lifted, content: 0 }
    }

    /// Checks the next piece of the content; fails with [`refused`].
    pub(crate) fn check(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.content == 0
            && let Some(name) = compression(piece)
        {
            return Err(refused(
                "a snapshot or a trace in the compressed file",
                format!("another compressed file ({name})"),
                "it was compressed twice: decompress it once",
            ));
        }
        self.content += piece.len() as u64;
        let stored = self.stored.load(Ordering::Relaxed);
        if self.content <= FREE || self.content / MOST_RATIO <= stored || self.lifted.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(refused(
            format!("a content at most {MOST_RATIO} times as large as its compressed file"),
            format!("{} bytes from {stored}", self.content),
            "a file that expands this far may fill the disk: give --allow-bomb if it really is a snapshot",
        ))
    }
}

/// Refuses an intact compressed content. The source adds its name and the offset.
pub(crate) fn refused(expected: impl Into<String>, found: impl Into<String>, hint: &'static str) -> io::Error {
    io::Error::other(StageError::input("", 0, expected, found, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stored: u64, lifted: bool) -> Expansion {
        Expansion::new(Arc::new(AtomicU64::new(stored)), Arc::new(AtomicBool::new(lifted)))
    }

    /// Bytes accepted before a refusal.
    fn taken(mut expansion: Expansion, most: u64) -> u64 {
        let piece = vec![b'x'; 1 << 20];
        let mut taken = 0;
        while taken < most && expansion.check(&piece).is_ok() {
            taken += piece.len() as u64;
        }
        taken
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        assert_eq!(taken(of(10, false), 1 << 30), FREE);
        assert_eq!(taken(of(100_000, false), 1 << 30), 100_000_999 >> 20 << 20);
        assert_eq!(taken(of(10, true), 200 << 20), 200 << 20);
        assert_eq!(taken(of(1 << 20, false), 200 << 20), 200 << 20);
    }

    #[test]
    fn compression_in_compression_is_refused_at_the_beginning_only() {
        let magics: [(&[u8], _); 3] =
            [(&[0x1f, 0x8b, 8], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (&[0x50, 0x2a, 0x4d, 0x18], "zstd")];
        for (magic, name) in magics {
            let refusal = of(10, true).check(magic).unwrap_err().to_string();
            assert!(refusal.ends_with(&format!("found another compressed file ({name})")), "{refusal}");
            let mut later = of(10, false);
            assert!(later.check(b"text").is_ok() && later.check(magic).is_ok());
        }
    }
}
