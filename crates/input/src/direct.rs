//! An uncompressed file, read by the thread that uses its bytes.
//!
//! Without decompression a reader thread is useless: its copy lies in the cache of another core, and writing into a
//! block last read by another core is ten times as slow. The system reads ahead.

use crate::magic::is_compressed;
use crate::stored::{BLOCK, Identity, fill};
use heaplake_kit::storage::Stored;
use std::io;
use xxhash_rust::xxh3::Xxh3;

/// Readahead, bytes: enough for a remote disk.
const AHEAD: u64 = 16 << 20;

/// Bytes read before readahead is requested: the request takes longer than reading a small file.
const UNASKED: u64 = 1 << 20;

/// The file, from its beginning.
pub(crate) struct Direct {
    file: Stored,
    /// Hash of the bytes read, if requested.
    hash: Option<Xxh3>,
    /// Bytes read.
    read: u64,
    /// End of the requested readahead.
    asked: u64,
}

impl Direct {
    pub(crate) fn new(file: Stored) -> Self {
        Self { file, hash: None, read: 0, asked: 0 }
    }

    /// Enables hashing.
    pub(crate) fn hashed(self) -> Self {
        Self { hash: Some(Xxh3::new()), ..self }
    }

    /// Opens a file; returns it if it is compressed.
    pub(crate) fn plain(mut file: Stored) -> io::Result<Result<Self, Stored>> {
        let mut magic = [0; 4];
        let (filled, end) = fill(&mut file, &mut magic);
        end?;
        file.rewind()?;
        Ok(if is_compressed(&magic[..filled]) { Err(file) } else { Ok(Self::new(file)) })
    }

    /// Replaces `block` by the next bytes; 0 at the end.
    pub(crate) fn next(&mut self, block: &mut Vec<u8>) -> io::Result<usize> {
        if self.read >= UNASKED && self.asked < self.read + AHEAD / 2 {
            self.asked = self.read + AHEAD;
            self.file.will_need(self.read, AHEAD);
        }
        block.resize(BLOCK, 0);
        let (filled, end) = fill(&mut self.file, block);
        end?;
        block.truncate(filled);
        self.read += filled as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(block);
        }
        Ok(filled)
    }

    /// Identity of the bytes read, if hashed.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.hash.as_ref().map(|hash| Identity { bytes: self.read, hash: format!("{:032x}", hash.digest128()) })
    }
}
