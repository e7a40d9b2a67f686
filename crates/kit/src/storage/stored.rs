//! Files and objects opened for reading.

use super::inputs;
use super::readahead::Readahead;
use crate::fs::File;
use crate::scheme::url;
use bytes::Bytes;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

/// A file or an object, for sequential reads.
pub enum Stored {
    /// A file.
    File(File),
    /// An object, with readahead.
    Object(Readahead),
    /// The content of a small object.
    Whole(Cursor<Bytes>),
}

impl Stored {
    /// Opens a regular file, or an object with [remembered](super::input) metadata.
    pub fn open(path: &Path) -> io::Result<Self> {
        match url(path) {
            None => File::open(path).map(Self::File),
            Some(url) => Ok(Self::Object(Readahead::new(inputs::object(url)?))),
        }
    }

    /// Returns its length.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(readahead) => Ok(readahead.object().bytes),
            Self::Whole(whole) => Ok(whole.get_ref().len() as u64),
        }
    }

    /// Returns to the beginning.
    pub fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => Seek::rewind(file),
            Self::Object(readahead) => {
                readahead.rewind();
                Ok(())
            }
            Self::Whole(whole) => whole.rewind(),
        }
    }

    /// Starts readahead of a range of a file; no effect on objects.
    pub fn will_need(&self, offset: u64, bytes: u64) {
        if let Self::File(file) = self {
            file.will_need(offset, bytes);
        }
    }
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(readahead) => readahead.read(buffer),
            Self::Whole(whole) => whole.read(buffer),
        }
    }
}
