//! The stored bytes of an input: opened lazily, counted and hashed.

use heaplake_kit::{StageError, stop};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// Bytes per block: it stays in the L2 cache when passed between threads.
pub const BLOCK: usize = 256 << 10;

/// Identity of an input, after reading it to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Stored bytes.
    pub bytes: u64,
    /// XXH3-128 of the stored bytes, hexadecimal.
    pub hash: String,
}

/// A file opened on the first read.
pub(crate) enum Late {
    Path(PathBuf),
    Open(File),
}

impl Late {
    /// Creates it for a file that may be a pipe without a writer.
    pub(crate) fn new(path: &Path) -> Self {
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

/// Counts the bytes read.
pub(crate) struct Counted {
    reader: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Counted {
    pub(crate) fn new(reader: Box<dyn Read + Send>, bytes: &Arc<AtomicU64>) -> Self {
        Self { reader, bytes: Arc::clone(bytes) }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A decoder may read long before it has a byte of content.
        if stop::flag().load(Ordering::Relaxed) {
            return Err(io::Error::other(StageError::Cancelled));
        }
        let count = self.reader.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Hashes the bytes read, if wanted.
pub(crate) struct Hashing {
    reader: Box<dyn Read + Send>,
    /// Hash of the bytes, if wanted.
    hash: Option<Xxh3>,
    bytes: u64,
}

impl Hashing {
    pub(crate) fn new(reader: Box<dyn Read + Send>, is_wanted: bool) -> Self {
        Self { reader, hash: is_wanted.then(Xxh3::new), bytes: 0 }
    }

    /// Identity of the bytes read so far, if they are hashed.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.hash.as_ref().map(|hash| Identity { bytes: self.bytes, hash: format!("{:032x}", hash.digest128()) })
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Decoders treat an interrupted call as the end of their input.
        let count = loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..count]);
        }
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Reads until `block` is full, the content ends or an error occurs; returns the number of bytes and the error.
pub(crate) fn fill(reader: &mut impl Read, block: &mut [u8]) -> (usize, io::Result<()>) {
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
