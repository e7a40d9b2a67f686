//! A file or an object, opened for reading.

use super::ahead::Ahead;
use super::store::store;
use crate::fs::File;
use crate::scheme::url;
use std::io::{self, Read, Seek};
use std::path::Path;

/// What is read from its beginning to its end, or at places.
pub enum Stored {
    /// A file.
    File(File),
    /// An object, parts of which are fetched ahead of who reads it.
    Object(Ahead),
}

impl Stored {
    /// Opens a regular file or an object.
    ///
    /// # Errors
    /// Those of [`File::open`] or of the store.
    pub fn open(path: &Path) -> io::Result<Self> {
        match url(path) {
            None => File::open(path).map(Self::File),
            Some(url) => Ok(Self::Object(Ahead::new(store()?.about(url)?))),
        }
    }

    /// Its length.
    ///
    /// # Errors
    /// Those of the system.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(ahead) => Ok(ahead.object().bytes),
        }
    }

    /// Goes back to the beginning.
    ///
    /// # Errors
    /// Those of the system.
    pub fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => Seek::rewind(file),
            Self::Object(ahead) => {
                ahead.rewind();
                Ok(())
            }
        }
    }

    /// Asks the system to read so many bytes of a file at a place before they are asked for.
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
            Self::Object(ahead) => ahead.read(buffer),
        }
    }
}
