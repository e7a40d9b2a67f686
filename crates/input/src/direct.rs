//! An uncompressed file, read by the thread that uses its bytes.
//!
//! Without decompression a reader thread is useless: its copy lies in the cache of another core, and writing into a
//! block last read by another core is ten times as slow. The system reads ahead.

use crate::magic::is_compressed;
use crate::stored::fill;
use heaplake_kit::storage::Stored;
use std::io::{self, Read};

/// Readahead, bytes: enough for a remote disk.
const AHEAD: u64 = 16 << 20;

/// Bytes read before readahead is requested: the request takes longer than reading a small file.
const UNASKED: u64 = 1 << 20;

/// The file, from its beginning.
pub(crate) struct Direct {
    file: Stored,
    /// Bytes read.
    read: u64,
    /// End of the requested readahead.
    asked: u64,
}

impl Direct {
    pub(crate) fn new(file: Stored) -> Self {
        Self { file, read: 0, asked: 0 }
    }
}

/// True if a file, at its beginning, is uncompressed.
pub(crate) fn is_plain(file: &mut Stored) -> io::Result<bool> {
    let mut magic = [0; 4];
    let (filled, end) = fill(file, &mut magic);
    end?;
    file.rewind()?;
    Ok(!is_compressed(&magic[..filled]))
}

impl Read for Direct {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= UNASKED && self.asked < self.read + AHEAD / 2 {
            self.asked = self.read + AHEAD;
            self.file.will_need(self.read, AHEAD);
        }
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        Ok(count)
    }
}
