//! Verifies that a file is the table listed in `run.json`: a regular file with the listed length and checksum.
//!
//! The length costs a system call; the checksum costs one pass over the file, once per open file. Tables of older
//! versions have no checksum.

use crate::checksum::{self, Failure};
use crate::entry::TableEntry;
use crate::seal::digits;
use heaplake_kit::fs::File;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::run;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum bytes of a table verified on every open. Longer ones are verified only on [request](Listed::check).
pub const CHECKED_BYTES: u64 = 64 << 20;

thread_local! {
    /// For [`Listed::checksum`].
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The reason why a file is not the listed table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted(String);

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unlisted {}

impl Unlisted {
    fn new(expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Self {
        Self(format!("expected {expected} as {} says, found {found}", run::FILE))
    }

    /// Extracts it from an I/O error, if it is one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}

impl From<Unlisted> for io::Error {
    fn from(unlisted: Unlisted) -> Self {
        Self::new(io::ErrorKind::InvalidData, unlisted)
    }
}

/// Verifies the content of a table, given its XXH3-64.
///
/// # Errors
/// [`Unlisted`] if the checksum differs.
pub(crate) fn check(content: &[u8], expected: &str) -> io::Result<()> {
    let found = digits(xxh3_64(content));
    match found == expected {
        true => Ok(()),
        false => Err(Unlisted::new(&format!("XXH3-64 {expected}"), &found).into()),
    }
}

/// The open file of a table.
#[derive(Debug)]
pub struct Listed {
    file: File,
    bytes: u64,
    xxh3_64: Option<u64>,
    /// Cached result of the checksum comparison.
    content: OnceLock<Result<(), Unlisted>>,
}

impl Listed {
    /// Opens a table.
    ///
    /// # Errors
    /// [`Unlisted`] for a link, an irregular file, or a file of another length.
    pub fn open(path: &Path, table: &TableEntry) -> io::Result<Self> {
        let file = File::open_itself(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
                Unlisted::new(&"a regular file", &error).into()
            }
            _ => error,
        })?;
        let found = file.metadata()?.len();
        if found != table.bytes {
            let in_bytes = |bytes: u64| format!("{bytes} bytes");
            return Err(Unlisted::new(&in_bytes(table.bytes), &in_bytes(found)).into());
        }
        Ok(Self { file, bytes: found, xxh3_64: table.xxh3_64, content: OnceLock::new() })
    }

    /// Verifies the content, once; calls `step` after each part read.
    ///
    /// # Errors
    /// [`Unlisted`] if the checksum differs.
    pub fn check(&self, step: &dyn Fn() -> Result<(), StageError>) -> Result<(), Failure> {
        let Some(expected) = self.xxh3_64.map(digits) else { return Ok(()) };
        let content = match self.content.get() {
            Some(content) => content.clone(),
            None => {
                let found = self.checksum(step)?;
                let content = match found == expected {
                    true => Ok(()),
                    false => Err(Unlisted::new(&format!("XXH3-64 {expected}"), &found)),
                };
                self.content.get_or_init(|| content).clone()
            }
        };
        content.map_err(|unlisted| Failure::Io(unlisted.into()))
    }

    /// Returns the file, verified if it is [short](CHECKED_BYTES).
    pub fn checked(&self) -> io::Result<&File> {
        if self.bytes > CHECKED_BYTES {
            return Ok(&self.file);
        }
        match self.check(&|| Ok(())) {
            Ok(()) => Ok(&self.file),
            Err(Failure::Io(error)) => Err(error),
            Err(Failure::Step(error)) => Err(io::Error::other(error)),
        }
    }

    fn checksum(&self, step: &dyn Fn() -> Result<(), StageError>) -> Result<String, Failure> {
        let mut at = 0;
        let read = |part: &mut [u8]| {
            let count = part.len().min(usize::try_from(self.bytes - at).unwrap_or(usize::MAX));
            self.file.read_exact_at(&mut part[..count], at)?;
            at += count as u64;
            Ok(count)
        };
        // A fresh buffer per table would take longer to clear than a small table to read.
        let mut buffer = BUFFER.take();
        let content = checksum::of(read, &mut buffer, |_| step());
        BUFFER.set(buffer);
        content.map(|content| content.xxh3_64)
    }
}

/// Opens a table and verifies length and content; returns its defect as text.
pub fn problem(path: &Path, table: &TableEntry, context: &Context<'_>) -> Result<Option<String>, StageError> {
    let opened = Listed::open(path, table);
    in_words(opened.map_err(Failure::Io).and_then(|listed| listed.check(&|| context.check())))
}

/// Turns a failed check into text; passes on errors of the caller's step.
pub fn in_words(checked: Result<(), Failure>) -> Result<Option<String>, StageError> {
    match checked {
        Ok(()) => Ok(None),
        Err(Failure::Io(error)) => Ok(Some(error.to_string())),
        Err(Failure::Step(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::BUFFER_BYTES;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_the_table_itself_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let content: Vec<u8> = (0..3 * BUFFER_BYTES + 7).map(|at| (at * 7) as u8).collect();
        fs::write(at("table"), &content).unwrap();
        let mut other = content.clone();
        other[BUFFER_BYTES] ^= 1;
        fs::write(at("other"), &other).unwrap();
        fs::write(at("shorter"), &content[1..]).unwrap();
        symlink(at("table"), at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let sum = crate::stored::checksum(&at("table"), &mut Vec::new(), |_| Ok(())).unwrap();
        let table = |xxh3_64: Option<String>| {
            let table = run::Table { file: "table".to_owned(), rows: 1, bytes: sum.bytes, xxh3_64 };
            TableEntry::of(&table).unwrap()
        };
        let checked = |name: &str, xxh3_64: Option<String>| {
            Listed::open(&at(name), &table(xxh3_64)).and_then(|listed| listed.checked().map(drop))
        };
        checked("table", Some(sum.xxh3_64.clone())).unwrap();
        checked("other", None).unwrap();
        for (name, said) in [("other", "XXH3-64"), ("shorter", "bytes"), ("link", "link"), ("folder", "regular file")] {
            let error = checked(name, Some(sum.xxh3_64.clone())).unwrap_err();
            assert!(Unlisted::of(&error).is_some() && error.to_string().contains(said), "{name}: {error}");
        }
        assert_eq!(checked("missing", None).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
