//! Access to the files of runs, local or in a store.
//!
//! A run in an object store has its tables one level deeper, in a folder per upload attempt; `run.json` names the
//! current one ([`Run::folder`](heaplake_schemas::run::Run)):
//!
//! ```text
//! s3://BUCKET/LAKE/release=<release>/snapshot=<name>/run.json
//!                                                    report.html
//!                                                    tables-<attempt>/nodes.parquet
//! ```
//!
//! Readers open `…/snapshot=<name>/nodes.parquet` in both cases; this module inserts the folder, cached from the last
//! read of each `run.json`. If a table has disappeared, the run was replaced, and its description is read again. Tables
//! of a held run ([`handles`]) are opened from its handles.

use crate::attempt::{MARK, is_folder};
use crate::checksum::{self, Content, Failure};
use crate::handles;
use heaplake_kit::storage::{self, Object, Stored};
use heaplake_kit::threads::locked;
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Location of a run's tables, from its description.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Layout {
    /// Folder of the tables.
    #[serde(default)]
    pub folder: Option<String>,
    #[serde(default)]
    tables: Vec<Named>,
}

impl Layout {
    /// Names of the tables.
    pub(crate) fn files(&self) -> impl Iterator<Item = String> {
        self.tables.iter().map(|table| table.file.clone())
    }

    /// True if a file, in a folder beside the description or beside it, belongs to the run.
    pub(crate) fn has(&self, folder: Option<&str>, file: &str) -> bool {
        let is_there = self.folder.as_deref() == folder;
        is_there && (self.tables.iter().any(|table| table.file == file) || folder.is_some() && file == MARK)
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Named {
    file: String,
}

/// Cache of runs in stores.
#[derive(Default)]
struct Known {
    /// Table locations by run.
    layouts: BTreeMap<PathBuf, Layout>,
    /// Places with descriptions expected to be read, sorted.
    expected: Vec<PathBuf>,
    /// Descriptions read ahead; each is returned once.
    texts: BTreeMap<PathBuf, (Object, Vec<u8>)>,
}

/// Descriptions per readahead.
const AT_ONCE: usize = 240;
/// Maximum bytes of a description read ahead: 60 MiB in total.
const SHORT: u64 = 256 << 10;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known<T>(with: impl FnOnce(&mut Known) -> T) -> T {
    with(locked(&KNOWN).get_or_insert_default())
}

/// Opens a file of a run.
pub fn open(path: &Path) -> io::Result<Stored> {
    match handles::table(path) {
        Some(file) => file.map(Stored::File),
        None => with_place(path, Stored::open),
    }
}

/// Reads a file from end to end, calling `step` after each part. The caller may reuse the buffer.
pub fn checksum(
    path: &Path,
    buffer: &mut Vec<u8>,
    step: impl FnMut(u64) -> Result<(), StageError>,
) -> Result<Content, StageError> {
    let failed = |error| StageError::io(path, "read", error);
    let mut file = open(path).map_err(failed)?;
    checksum::of(|part| file.read(part), buffer, step).map_err(|failure| match failure {
        Failure::Io(error) => failed(error),
        Failure::Step(error) => error,
    })
}

/// Returns the length of a file of a run.
pub fn bytes(path: &Path) -> io::Result<u64> {
    if let Some(file) = handles::table(path) {
        return Ok(file?.metadata()?.len());
    }
    with_place(path, |path| storage::about(path).map(|about| about.bytes))
}

/// True if a file of a run exists.
pub fn exists(path: &Path) -> bool {
    bytes(path).is_ok()
}

/// Returns the actual path of a run's file: in a store, inside the folder of the attempt.
pub fn place_of(path: &Path) -> io::Result<PathBuf> {
    let (Some(place), Some(file)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(path.to_owned());
    };
    if !storage::is_url(place) || file == run::FILE {
        return Ok(path.to_owned());
    }
    let layout = match known(|known| known.layouts.get(place).cloned()) {
        Some(layout) => layout,
        None => match description(place) {
            Ok((_, text)) => layout_of(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Layout::default(),
            Err(error) => return Err(error),
        },
    };
    Ok(match layout.folder.filter(|_| layout.tables.iter().any(|table| table.file == file)) {
        Some(folder) => place.join(folder).join(file),
        None => path.to_owned(),
    })
}

fn with_place<T>(path: &Path, act: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let place = place_of(path)?;
    match act(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && place != path => {
            // The run was replaced or removed.
            known(|known| path.parent().map(|run| known.layouts.remove(run)));
            let now = place_of(path)?;
            if now == place { Err(error) } else { act(&now) }
        }
        other => other,
    }
}

/// Reads the description of a run in a store, with its metadata.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is no run.
pub(crate) fn description(place: &Path) -> io::Result<(Object, Vec<u8>)> {
    read_ahead(place);
    let read = match known(|known| known.texts.remove(place)) {
        Some(read) => Ok(read),
        None => {
            let path = place.join(run::FILE);
            let url = storage::url(&path).ok_or(io::ErrorKind::InvalidInput)?;
            storage::store()?.read(url, fs::DOCUMENT_BYTES).map(|(object, text)| (object, text.into()))
        }
    };
    match &read {
        Ok((_, text)) => known(|known| known.layouts.insert(place.to_owned(), layout_of(text))),
        Err(_) => known(|known| known.layouts.remove(place)),
    };
    read
}

/// As [`description`], but keeps a text read ahead for the next caller.
pub(crate) fn look(place: &Path) -> io::Result<(Object, Vec<u8>)> {
    read_ahead(place);
    match known(|known| known.texts.get(place).cloned()) {
        Some(read) => Ok(read),
        None => description(place),
    }
}

/// Announces reads of descriptions, so that those in a store are read in bulk. No effect on local runs.
pub fn expect(places: &[PathBuf]) {
    let mut expected: Vec<PathBuf> = places.iter().filter(|place| storage::is_url(place)).cloned().collect();
    expected.sort();
    known(|known| known.expected = expected);
}

/// Reads ahead an expected description and the following ones. Long ones are left to their readers.
fn read_ahead(place: &Path) {
    let some: Vec<PathBuf> = known(|known| {
        let at = known.expected.binary_search_by(|expected| expected.as_path().cmp(place));
        let at = at.ok().filter(|_| !known.texts.contains_key(place));
        at.map_or_else(Vec::new, |at| {
            let end = known.expected.len().min(at + AT_ONCE);
            known.expected.drain(at..end).collect()
        })
    });
    let Some(store) = storage::store().ok().filter(|_| !some.is_empty()) else { return };
    let urls: Vec<String> = some.iter().map(|place| place.join(run::FILE).to_string_lossy().into_owned()).collect();
    for (place, read) in some.into_iter().zip(store.read_all(&urls, SHORT)) {
        if let Ok((object, text)) = read {
            known(|known| known.texts.insert(place, (object, text.into())));
        }
    }
}

/// Returns the location of a run's tables; `None` if its description is unreadable or has none.
pub(crate) fn layout(place: &Path) -> Option<Layout> {
    let layout = known(|known| known.layouts.get(place).cloned());
    let layout = layout.or_else(|| description(place).ok().map(|(_, text)| layout_of(&text)));
    layout.filter(|layout| layout.folder.is_some() || !layout.tables.is_empty())
}

/// Parses the location of tables; a damaged text yields the default.
pub(crate) fn layout_of(text: &[u8]) -> Layout {
    let layout: Layout = serde_json::from_slice(text).unwrap_or_default();
    // A damaged or hostile description may name any folder.
    Layout { folder: layout.folder.filter(|folder| is_folder(folder)), ..layout }
}

/// Returns names and lengths of the files of a run: those of its folder, in a store also those of its attempt without
/// the mark. Empty if unreadable.
pub fn files(place: &Path) -> Vec<(String, u64)> {
    let Some(url) = storage::url(place) else {
        let entries = storage::entries(place).unwrap_or_default().into_iter();
        return entries.filter(|entry| !entry.is_folder).map(|entry| (entry.name, entry.bytes)).collect();
    };
    let folder = known(|known| known.layouts.get(place).and_then(|layout| layout.folder.clone()));
    let folder = folder.map(|folder| format!("{folder}/"));
    let objects = storage::store().and_then(|store| store.list(url)).unwrap_or_default().objects;
    let of_run = |within: &str| {
        let within = folder.as_ref().and_then(|folder| within.strip_prefix(folder)).unwrap_or(within);
        (!within.contains('/') && within != MARK).then(|| within.to_owned())
    };
    let named = |object: &Object| Some((of_run(object.url.get(url.len()..)?.trim_start_matches('/'))?, object.bytes));
    objects.iter().filter_map(named).collect()
}

/// Total bytes of a run's files.
pub fn disk_bytes(place: &Path) -> u64 {
    files(place).into_iter().map(|(_, bytes)| bytes).sum()
}

/// Remembers where the tables of a run in a store are, as its description says.
pub(crate) fn remember(place: &Path, folder: Option<&str>, files: impl Iterator<Item = String>) {
    let tables = files.map(|file| Named { file }).collect();
    let folder = folder.filter(|folder| is_folder(folder)).map(str::to_owned);
    known(|known| known.layouts.insert(place.to_owned(), Layout { folder, tables }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_one_folder_of_tables() {
        let of = |folder: &str| layout_of(format!(r#"{{"folder": {folder:?}, "tables": []}}"#).as_bytes()).folder;
        assert_eq!(of("tables-1f"), Some("tables-1f".to_owned()));
        for hostile in ["", "..", "tables-/../x", "other", "/tables-1"] {
            assert_eq!(of(hostile), None, "{hostile}");
        }
        assert_eq!(layout_of(b"{").folder, None);
    }

    #[test]
    fn files_of_folders_are_where_their_path_says() {
        let path = Path::new("lake/release=a/snapshot=b/nodes.parquet");
        assert_eq!(place_of(path).unwrap(), path);
        assert!(!exists(path));
    }
}
