//! A file whose bytes are the content, read by the thread that uses them.
//!
//! A reader thread would be of no use where nothing is to be decompressed: what it copies lies in the cache of its own
//! processor, and to write into a block that another one has read last is ten times as slow. The system reads the disk
//! ahead.

use crate::magic::is_compressed;
use crate::stored::{BLOCK, Identity, fill};
use heaplake_kit::storage::Stored;
use std::io;
use xxhash_rust::xxh3::Xxh3;

/// What the system is asked to read ahead, bytes: enough for a disk that is far away.
const AHEAD: u64 = 16 << 20;

/// So much is read before the system is asked, bytes: to ask takes longer than to read a small file.
const UNASKED: u64 = 1 << 20;

/// The file, from its beginning.
pub struct Direct {
    file: Stored,
    /// The hash of what was read, where that is asked for.
    hash: Option<Xxh3>,
    /// Bytes that were read.
    read: u64,
    /// Bytes that the system was asked to read.
    asked: u64,
}

impl Direct {
    pub fn new(file: Stored) -> Self {
        Self { file, hash: None, read: 0, asked: 0 }
    }

    /// The same with a hash of all that is read.
    pub fn hashed(self) -> Self {
        Self { hash: Some(Xxh3::new()), ..self }
    }

    /// The same, unless the file begins as compressed ones do.
    ///
    /// # Errors
    /// Those of the system.
    pub fn plain(mut file: Stored) -> io::Result<Result<Self, Stored>> {
        let mut magic = [0; 4];
        let (filled, end) = fill(&mut file, &mut magic);
        end?;
        file.rewind()?;
        Ok(if is_compressed(&magic[..filled]) { Err(file) } else { Ok(Self::new(file)) })
    }

    /// Replaces `block` by what comes next; nothing is the end.
    ///
    /// # Errors
    /// Those of the system.
    pub fn next(&mut self, block: &mut Vec<u8>) -> io::Result<usize> {
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

    /// What was read so far, where it was hashed.
    pub fn identity(&self) -> Option<Identity> {
        self.hash.as_ref().map(|hash| Identity { bytes: self.read, hash: format!("{:032x}", hash.digest128()) })
    }
}
