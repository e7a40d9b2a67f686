//! The bytes of an input as they are stored: opened in time, counted and hashed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// Size of a block, bytes: it still lies in the second-level cache when it goes from thread to thread.
pub const BLOCK: usize = 256 << 10;

/// What is known of an input once it was read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Bytes as stored.
    pub bytes: u64,
    /// XXH3-128 of them, hexadecimal.
    pub hash: String,
}

/// What is opened when it is first read.
pub enum Late {
    Path(PathBuf),
    Open(File),
}

impl Late {
    /// Of a file that may be a pipe without a writer.
    pub fn new(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl Read for Late {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Open(file) => return file.read(buffer),
                Self::Path(path) => *self = Self::Open(File::open(path)?),
            }
        }
    }
}

/// Counts what passes through.
pub struct Counted {
    reader: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Counted {
    pub fn new(reader: Box<dyn Read + Send>, bytes: &Arc<AtomicU64>) -> Self {
        Self { reader, bytes: Arc::clone(bytes) }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Hashes what passes through.
pub struct Hashing {
    reader: Box<dyn Read + Send>,
    hash: Xxh3,
    bytes: u64,
}

impl Hashing {
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, hash: Xxh3::new(), bytes: 0 }
    }

    /// What passed so far.
    pub fn identity(&self) -> Identity {
        Identity { bytes: self.bytes, hash: format!("{:032x}", self.hash.digest128()) }
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Decoders take an interrupted call for the end of what they decode.
        let count = loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.hash.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Reads until `block` is full, the content ends or an error comes; gives how much that is, and the error.
pub fn fill(reader: &mut impl Read, block: &mut [u8]) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < block.len() {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(()))
}
