//! Marks of upload attempts, which list the objects that an attempt owns in a store.
//!
//! Anybody may create a folder with the name of an attempt, and a bucket has other users. So an attempt first writes an
//! object ([`MARK`]) that names the lake, the run, the attempt and its files, under a seal:
//!
//! ```text
//! LAKE/release=R/snapshot=N/tables-ATTEMPT/heaplake-attempt.json
//! ```
//!
//! Cleanup removes only objects named by a mark that matches its own location. The mark is removed last, so an
//! interrupted cleanup can resume.

use crate::run_files::PAGE;
use crate::seal::{self, Seal};
use heaplake_kit::storage::{self, Only};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::{HEAPLAKE_VERSION, run};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Name of the mark in the folder of an attempt.
pub(crate) const MARK: &str = "heaplake-attempt.json";
/// Format version of the mark.
const FORMAT: u32 = 1;

/// The content of a mark.
#[derive(Debug, Deserialize, Serialize)]
struct Mark {
    heaplake_attempt: u32,
    heaplake_version: String,
    lake: String,
    run: String,
    attempt: String,
    files: Vec<String>,
}

/// Objects written by an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// URL of the run's place.
    place: String,
    /// Folder of the tables; `None` if they lie beside the description.
    folder: Option<String>,
    /// Their names.
    files: Vec<String>,
}

impl Owned {
    /// Creates the set of a run's objects from its place, the folder of its tables and their names.
    pub(crate) fn new(place: &Path, folder: Option<&str>, files: impl IntoIterator<Item = String>) -> Self {
        let (place, folder) = (place.to_string_lossy().into_owned(), folder.map(str::to_owned));
        let files = files.into_iter().filter(|file| is_file(file) && file != run::FILE && file != MARK).collect();
        Self { place, folder, files }
    }

    /// Names of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Reads the mark of an attempt; `None` if there is none, or a foreign one.
    pub(crate) fn marked(place: &Path, folder: &str) -> io::Result<Option<Self>> {
        let url = place.join(folder).join(MARK).to_string_lossy().into_owned();
        match storage::store()?.read(&url, fs::DOCUMENT_BYTES) {
            Ok((_, text)) => Ok(Self::of_mark(place, folder, &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound || fs::TooLong::is(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_mark(place: &Path, folder: &str, text: &[u8]) -> Option<Self> {
        let mark: Mark = serde_json::from_slice(text).ok()?;
        let (lake, run) = parts(place)?;
        let here = (mark.heaplake_attempt, &*mark.lake, &*mark.run, &*mark.attempt) == (FORMAT, &*lake, &*run, folder);
        let is_whole = matches!(seal::of(text), Seal::Whole(_)) && is_folder(folder);
        (here && is_whole).then(|| Self::new(place, Some(folder), mark.files))
    }

    /// Writes the mark; returns its length, 0 if one exists or nothing needs a mark.
    pub(crate) fn mark(&self) -> Result<u64, StageError> {
        let (Some(folder), Some((lake, run))) = (&self.folder, parts(Path::new(&self.place))) else { return Ok(0) };
        let path = Path::new(&self.place).join(folder).join(MARK);
        let mark = Mark {
            heaplake_attempt: FORMAT,
            heaplake_version: HEAPLAKE_VERSION.to_owned(),
            lake,
            run,
            attempt: folder.clone(),
            files: self.files.clone(),
        };
        let text = serde_json::to_string_pretty(&mark)
            .map_err(|error| StageError::Scratch { path: path.clone(), problem: error.to_string() })?;
        let (text, _) = seal::sealed(&text);
        let bytes = text.len() as u64;
        let put = storage::store().and_then(|store| store.put(&path.to_string_lossy(), text.into(), Only::IfNone));
        match put {
            Ok(_) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(0),
            Err(error) => Err(StageError::io(&path, "write", error)),
        }
    }

    /// Removes the objects and, after them, the mark; optionally the page of the run.
    pub(crate) fn remove(&self, page: bool) -> io::Result<()> {
        let folder =
            self.folder.as_ref().map_or_else(|| self.place.clone(), |folder| format!("{}/{folder}", self.place));
        let tables = self.files.iter().map(|file| format!("{folder}/{file}"));
        let page = page.then(|| format!("{}/{PAGE}", self.place));
        let store = storage::store()?;
        store.remove(tables.chain(page).collect())?;
        if self.folder.is_some() { store.remove(vec![format!("{folder}/{MARK}")]) } else { Ok(()) }
    }
}

/// Splits a place into lake and run, as marks name them.
fn parts(place: &Path) -> Option<(String, String)> {
    let (rest, snapshot) = place.to_str()?.rsplit_once('/')?;
    let (lake, release) = rest.rsplit_once('/')?;
    Some((lake.trim_end_matches('/').to_owned(), format!("{release}/{snapshot}")))
}

/// True if a text is a valid name of a folder of tables.
pub(crate) fn is_folder(name: &str) -> bool {
    name.starts_with(run::TABLES) && is_name(name)
}

/// True if a text is the path of a file in the folder of an attempt or in a folder there.
fn is_file(path: &str) -> bool {
    path.split('/').count() <= 2 && path.split('/').all(is_name)
}

/// True if a text is a valid file name: content read from a store is untrusted.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\']) && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_where_it_was_written_alone() {
        let (lake, run) = ("s3://b/lake".to_owned(), "release=r/snapshot=n".to_owned());
        let files = ["a.parquet", "../x", "run.json", "sub/b", "a/b/c", "/d", ".."].map(str::to_owned).to_vec();
        let (heaplake_version, attempt) = ("1".to_owned(), "tables-1f".to_owned());
        let mark = Mark { heaplake_attempt: FORMAT, heaplake_version, lake, run, attempt, files };
        let unsealed = serde_json::to_string_pretty(&mark).unwrap();
        let (text, _) = seal::sealed(&unsealed);
        let of = |place: &str, folder: &str, text: &str| Owned::of_mark(Path::new(place), folder, text.as_bytes());
        let place = "s3://b/lake/release=r/snapshot=n";
        assert_eq!(of(place, "tables-1f", &text).unwrap().files, ["a.parquet", "sub/b"]);
        for (place, folder, text) in [
            ("s3://b/other/release=r/snapshot=n", "tables-1f", &text),
            ("s3://b/lake/release=r/snapshot=m", "tables-1f", &text),
            (place, "tables-2f", &text),
            (place, "tables-1f", &unsealed),
            (place, "tables-1f", &text.replace("a.parquet", "b.parquet")),
        ] {
            assert_eq!(of(place, folder, text), None, "{place} {folder} {text}");
        }
    }
}
