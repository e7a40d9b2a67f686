//! The output of a redaction, buffered.

use heaplake_kit::StageError;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of the buffer.
const BUFFER: usize = 256 << 10;

/// A buffered output with the file that its errors name.
pub struct Sink<'a> {
    out: &'a mut dyn Write,
    path: PathBuf,
    buffer: Vec<u8>,
    written: u64,
}

impl<'a> Sink<'a> {
    /// Writes to `out`, which is the file `path` in errors.
    pub fn new(out: &'a mut dyn Write, path: &Path) -> Self {
        Self { out, path: path.to_owned(), buffer: Vec::with_capacity(2 * BUFFER), written: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`StageError::Io`] when the output cannot be written.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        if self.buffer.len() + bytes.len() > 2 * BUFFER {
            self.flush()?;
            if bytes.len() > BUFFER {
                return self.write(bytes);
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the buffer.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn flush(&mut self) -> Result<(), StageError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.write(&buffer);
        buffer.clear();
        self.buffer = buffer;
        result
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|error| StageError::io(&self.path, "write", error))
    }

    /// Bytes so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }
}
