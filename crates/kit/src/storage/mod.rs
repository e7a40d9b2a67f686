//! Access to inputs and lakes, in folders or in an object store, by path.
//!
//! A path with a [scheme](SCHEMES), such as `s3://bucket/lake`, names objects. The functions here take paths of either
//! kind. The store clients are in a crate of their own, which the binary registers at startup ([`install`]), as a file
//! system is mounted. A build without it knows the schemes and reports the missing feature.
//!
//! Errors of a store are [`Failure`]s inside an [`io::Error`] of the kind that a file system would return.

mod about;
mod inputs;
mod readahead;
mod store;
mod stored;

use crate::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::scheme::{SCHEMES, is_url, url};
pub use about::{About, about};
pub use inputs::{input, input_anew, list_inputs};
pub use readahead::{Readahead, wait};
pub use store::{AT_ONCE, Failure, Fetch, Level, Object, Only, Store, install, store};
pub use stored::Stored;

/// True if the path is a regular file or an object.
pub fn is_file(path: &Path) -> bool {
    about(path).is_ok()
}

/// True if the path is a folder, or a nonempty prefix in a store.
pub fn is_folder(path: &Path) -> bool {
    match url(path) {
        Some(url) => store().and_then(|store| store.level(url)).is_ok_and(|level| !level.is_empty()),
        None => path.is_dir(),
    }
}

/// Reads a file or an object of at most [`DOCUMENT_BYTES`](fs::DOCUMENT_BYTES).
///
/// # Errors
/// [`fs::TooLong`] for a longer one.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match url(path) {
        Some(url) => Ok(store()?.read(url, fs::DOCUMENT_BYTES)?.1.into()),
        None => fs::read(path),
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// True for a folder.
    pub is_folder: bool,
    /// Bytes of a file.
    pub bytes: u64,
}

/// Lists a folder by name. Omits names that are not UTF-8, and entries removed meanwhile.
pub fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = match url(folder) {
        Some(url) => of_level(store()?.level(url)?),
        None => of_folder(folder)?,
    };
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn of_level(level: Level) -> Vec<Entry> {
    let folders = level.folders.into_iter().map(|name| Entry { name, is_folder: true, bytes: 0 });
    let objects = level.objects.into_iter().map(|object| {
        let name = object.url.rsplit('/').next().unwrap_or_default().to_owned();
        Entry { name, is_folder: false, bytes: object.bytes }
    });
    folders.chain(objects).collect()
}

fn of_folder(folder: &Path) -> io::Result<Vec<Entry>> {
    let entry = |entry: std::fs::DirEntry| {
        let there = std::fs::metadata(entry.path()).ok()?;
        let name = entry.file_name().into_string().ok()?;
        Some(Entry { name, is_folder: there.is_dir(), bytes: if there.is_file() { there.len() } else { 0 } })
    };
    Ok(fs::read_dir(folder)?.flatten().filter_map(entry).collect())
}

/// Returns the canonical path, without links and dots, if possible.
pub fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_stores_an_error_says_so() {
        let error = about(Path::new("s3://bucket/a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(Failure::is(&error) && !Failure::is(&io::Error::other("else")));
    }

    #[test]
    fn entries_of_a_folder_come_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), "12").unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let of = |name: &str, is_folder, bytes| Entry { name: name.to_owned(), is_folder, bytes };
        assert_eq!(entries(folder.path()).unwrap(), [of("a", true, 0), of("b", false, 2)]);
        assert!(is_folder(folder.path()) && !is_file(folder.path()) && is_file(&folder.path().join("b")));
    }
}
