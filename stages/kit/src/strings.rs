//! String tables: many byte strings in two columns, by position.

use crate::{ColumnMap, ColumnWriter, Scratch, StageError};
use heaplake_schemas::scratch::StringColumns;
use std::borrow::Cow;

/// Writes a string table front to back. A string may come in pieces, so its length is not bounded by memory.
pub struct StringWriter {
    bytes: ColumnWriter<u8>,
    start: ColumnWriter<u64>,
}

impl StringWriter {
    /// Starts the table anew.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        let mut start = ColumnWriter::create(scratch, columns.start)?;
        start.push(0)?;
        Ok(Self { bytes: ColumnWriter::create(scratch, columns.bytes)?, start })
    }

    /// Goes on behind the last string of a finished table.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn append(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        Ok(Self {
            bytes: ColumnWriter::append(scratch, columns.bytes)?,
            start: ColumnWriter::append(scratch, columns.start)?,
        })
    }

    /// Number of finished strings, which is the position of the next one.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.start.len() - 1
    }

    /// Adds a piece to the string that is being written.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn extend(&mut self, piece: &[u8]) -> Result<(), StageError> {
        self.bytes.extend(piece)
    }

    /// Ends the string that is being written.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn end(&mut self) -> Result<(), StageError> {
        self.start.push(self.bytes.len())
    }

    /// Adds a whole string.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn push(&mut self, string: &[u8]) -> Result<(), StageError> {
        self.extend(string)?;
        self.end()
    }

    /// Ends the table and gives the number of its strings.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<u64, StageError> {
        self.bytes.finish()?;
        Ok(self.start.finish()? - 1)
    }
}

/// A finished string table, mapped for reading at random.
pub struct StringTable {
    bytes: ColumnMap<u8>,
    start: ColumnMap<u64>,
}

impl StringTable {
    /// Opens a table.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn open(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        Ok(Self {
            bytes: ColumnMap::uncounted(scratch, columns.bytes)?,
            start: ColumnMap::uncounted(scratch, columns.start)?,
        })
    }

    /// Lets go of what was looked at so far, see [`ColumnMap::release`].
    pub fn release(&self) {
        self.bytes.release();
        self.start.release();
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of a string; see [`StringColumns`] for what they may be.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> &[u8] {
        &self.bytes[self.start[position] as usize..self.start[position + 1] as usize]
    }

    /// A string for people: a lone surrogate, and each run of bytes that is no Unicode text, is replaced by U+FFFD.
    #[must_use]
    pub fn text(&self, position: usize) -> Cow<'_, str> {
        let bytes = self.get(position);
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(String::from_utf8_lossy(&without_surrogates(bytes)).into_owned()),
        }
    }
}

/// Replaces the three-byte forms of lone surrogates by that of U+FFFD.
fn without_surrogates(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xed && bytes[at + 1] >= 0xa0 && bytes[at + 1] < 0xc0 && bytes[at + 2] & 0xc0 == 0x80 {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    bytes
}
