//! String tables: byte strings stored in two columns and addressed by position.

use crate::{ColumnMap, ColumnWriter, ReverseReader, Scratch, StageError};
use heaplake_schemas::scratch::StringColumns;
use std::borrow::Cow;
use std::path::PathBuf;

/// Writes a string table sequentially. Strings may be written in pieces, so memory does not bound their length.
pub struct StringWriter {
    path: PathBuf,
    bytes: ColumnWriter<u8>,
    start: ColumnWriter<u64>,
}

impl StringWriter {
    /// Creates or truncates the table.
    pub fn create(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        let mut start = ColumnWriter::create(scratch, columns.start)?;
        start.push(0)?;
        Ok(Self { path: scratch.path(columns.start), bytes: ColumnWriter::create(scratch, columns.bytes)?, start })
    }

    /// Appends to a finished table.
    pub fn append(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        let path = scratch.path(columns.start);
        let last = ReverseReader::open(scratch, columns.start)?.next()?;
        let (bytes, start) =
            (ColumnWriter::append(scratch, columns.bytes)?, ColumnWriter::append(scratch, columns.start)?);
        if last != bytes.len() {
            let problem = format!("the last string ends at {last} of {}", bytes.len());
            return Err(StageError::scratch(&path, problem));
        }
        Ok(Self { path, bytes, start })
    }

    /// Number of finished strings, which is the position of the next one.
    pub fn count(&self) -> u64 {
        self.start.len().saturating_sub(1)
    }

    /// Appends a piece to the current string.
    pub fn extend(&mut self, piece: &[u8]) -> Result<(), StageError> {
        self.bytes.extend(piece)
    }

    /// Ends the current string.
    pub fn end(&mut self) -> Result<(), StageError> {
        self.start.push(self.bytes.len())
    }

    /// Appends a whole string.
    pub fn push(&mut self, string: &[u8]) -> Result<(), StageError> {
        self.extend(string)?;
        self.end()
    }

    /// Ends the table and returns the number of its strings.
    pub fn finish(self) -> Result<u64, StageError> {
        self.bytes.finish()?;
        self.start
            .finish()?
            .checked_sub(1)
            .ok_or_else(|| StageError::scratch(&self.path, "it does not begin with the first string"))
    }
}

/// A finished string table, mapped for random access.
///
/// Damaged entries and invalid positions read as empty strings; the damage is recorded and the stage fails at its end
/// (see [`Scratch::undamaged`]).
#[derive(Clone)]
pub struct StringTable {
    scratch: Scratch,
    path: PathBuf,
    bytes: ColumnMap<u8>,
    start: ColumnMap<u64>,
}

impl StringTable {
    /// Opens a table.
    pub fn open(scratch: &Scratch, columns: StringColumns) -> Result<Self, StageError> {
        Ok(Self {
            scratch: scratch.clone(),
            path: scratch.path(columns.start),
            bytes: ColumnMap::uncounted(scratch, columns.bytes)?,
            start: ColumnMap::uncounted(scratch, columns.start)?,
        })
    }

    /// Drops the accessed pages, see [`ColumnMap::release`].
    pub fn release(&self) {
        self.bytes.release();
        self.start.release();
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// True if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a string; [`StringColumns`] defines their encoding.
    #[inline]
    pub fn get(&self, position: usize) -> &[u8] {
        let range = position.checked_add(1).and_then(|end| self.start.get(position).zip(self.start.get(end)));
        match range.and_then(|(&start, &end)| self.bytes.get(start as usize..end as usize)) {
            Some(string) => string,
            None => self.damaged(position),
        }
    }

    #[cold]
    fn damaged(&self, position: usize) -> &[u8] {
        let problem = format!("there is no string {position} of {}", self.len());
        self.scratch.note_damage(StageError::scratch(&self.path, problem));
        &[]
    }

    /// Returns the beginning of a string as Unicode text: all of it up to `most` characters, otherwise at least `most`.
    /// Time and memory do not depend on the length of the string.
    pub fn beginning(&self, position: usize, most: usize) -> Cow<'_, str> {
        let bytes = self.get(position);
        // A character has at most four bytes; do not split one.
        let mut end = most.saturating_mul(4).saturating_add(4).min(bytes.len());
        for _ in 0..3 {
            end -= usize::from(end < bytes.len() && bytes[end] & 0xc0 == 0x80);
        }
        as_text(&bytes[..end])
    }

    /// Returns a string as Unicode text, with U+FFFD for each lone surrogate and each run of invalid bytes.
    pub fn text(&self, position: usize) -> Cow<'_, str> {
        as_text(self.get(position))
    }
}

fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(String::from_utf8_lossy(&without_surrogates(bytes)).into_owned()),
    }
}

/// Replaces the three-byte encodings of lone surrogates by that of U+FFFD.
fn without_surrogates(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xed && bytes[at + 1] >= 0xa0 && bytes[at + 1] < 0xc0 && bytes[at + 2] & 0xc0 == 0x80 {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::scratch::STRINGS;

    #[test]
    fn beginnings_are_whole_characters() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = StringWriter::create(&scratch, STRINGS).unwrap();
        let texts = ["short", &"é𝄞a".repeat(50), ""];
        texts.iter().for_each(|text| writer.push(text.as_bytes()).unwrap());
        writer.push(&[0x80; 100]).unwrap();
        writer.finish().unwrap();
        let table = StringTable::open(&scratch, STRINGS).unwrap();
        for (position, text) in texts.iter().enumerate() {
            for most in 0..60 {
                let beginning = table.beginning(position, most);
                assert!(text.starts_with(&*beginning), "{beginning}");
                assert!(beginning.chars().count() >= most.min(text.chars().count()));
                assert!(beginning.len() <= 4 * most + 4);
            }
        }
        assert!(!table.beginning(3, 5).is_empty());
        scratch.undamaged().unwrap();
    }

    #[test]
    fn damaged_tables_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        for starts in [&[][..], &[0], &[0, 3], &[0, 3, 2], &[0, u64::MAX], &[7, 8], &[2, 1, 3], &[0, 1, 9]] {
            let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
            std::fs::write(scratch.path(STRINGS.bytes), [7; 3]).unwrap();
            std::fs::write(scratch.path(STRINGS.start), bytemuck::cast_slice(starts)).unwrap();
            let table = StringTable::open(&scratch, STRINGS).unwrap();
            for position in [0, 1, 2, usize::MAX] {
                assert!(table.get(position).len() <= 3 && table.beginning(position, 2).len() <= 9);
            }
            assert!(matches!(scratch.undamaged(), Err(StageError::Scratch { .. })), "{starts:?}");
            let appended = StringWriter::append(&scratch, STRINGS).map(|writer| writer.count());
            assert_eq!(appended.is_ok(), starts.last() == Some(&3), "{starts:?}");
        }
    }
}
