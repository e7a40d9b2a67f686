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

use crate::attempt::is_folder;
use crate::checksum::{self, Content, Failure};
use crate::handles::Held;
use crate::layout::{At, Layout, layout_of};
use crate::packs::{self, Slice};
use crate::{ahead, handles, inventory, listed as listing};
use bytes::Bytes;
use heaplake_kit::fs::File;
use heaplake_kit::storage::{self, AT_ONCE, Object, Readahead, Stored};
use heaplake_kit::threads::locked;
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Cache of runs in stores.
#[derive(Default)]
struct Known {
    /// Table locations by run.
    layouts: BTreeMap<PathBuf, Layout>,
    /// Places with descriptions expected to be read, sorted.
    expected: Vec<PathBuf>,
    /// The run that is read after a run.
    next: BTreeMap<PathBuf, PathBuf>,
    /// Descriptions read ahead; each is returned once.
    texts: BTreeMap<PathBuf, (Object, Vec<u8>)>,
}

/// Descriptions per readahead.
const DESCRIPTIONS: usize = 240;
/// Bytes at the end of a table, for its footer.
const END: u64 = 64 << 10;
/// Maximum bytes of a description read ahead: 60 MiB in total.
const SHORT: u64 = 256 << 10;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known<T>(with: impl FnOnce(&mut Known) -> T) -> T {
    with(locked(&KNOWN).get_or_insert_default())
}

/// Opens a file of a run.
pub fn open(path: &Path) -> io::Result<Stored> {
    match handles::table(path) {
        Some(held) => held.and_then(file).map(Stored::File),
        None => with_place(path, verified),
    }
}

/// The file of a held table. The rows of a pack are no file.
fn file(held: Held) -> io::Result<File> {
    match held {
        Held::File(file) => Ok(file),
        Held::Pack(_) => Err(io::ErrorKind::NotFound.into()),
    }
}

/// A table, opened for its reader.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Opening {
    /// Its file; of a long one in a store with its end, which a reader needs first.
    File(Stored, Option<Bytes>),
    /// Its rows in a pack.
    Pack(Slice),
}

/// As [`open`], for a table, whose rows may be in a pack.
pub(crate) fn table(path: &Path) -> io::Result<Opening> {
    match handles::table(path) {
        Some(Ok(Held::File(file))) => return Ok(Opening::File(Stored::File(file), None)),
        Some(Ok(Held::Pack(slice))) => return Ok(Opening::Pack(slice)),
        Some(Err(error)) => return Err(error),
        None => {}
    }
    // A store takes a request to say that it has no file.
    if storage::is_url(path)
        && let Some(slice) = in_pack(path)?
    {
        return Ok(Opening::Pack(slice));
    }
    match table_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // It was packed since the last look.
            packs::forget_all();
            in_pack(path)?.map(Opening::Pack).ok_or(error)
        }
        opened => opened.map(|(file, end)| Opening::File(file, end)),
    }
}

/// The rows of a table in a pack, if they are there.
fn in_pack(path: &Path) -> io::Result<Option<Slice>> {
    let (Some(place), Some(file)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    if !storage::is_url(place) {
        return packs::of_path(path);
    }
    if file == run::FILE {
        return Ok(None);
    }
    match layout(place) {
        Some(Layout { packed: Some(packed), schema_version, tables, .. })
            if tables.iter().any(|table| table.file == file && packs::may_have(file, table.bytes)) =>
        {
            packs::of(place, file, &packed, schema_version)
        }
        _ => Ok(None),
    }
}

fn table_file(path: &Path) -> io::Result<(Stored, Option<Bytes>)> {
    with_place(path, |at| match verified(at)? {
        Stored::Object(ahead) => {
            let (object, from) = (ahead.object(), ahead.object().bytes.saturating_sub(END));
            let end = match object.bytes {
                0 => None,
                bytes => Some(storage::wait(&storage::store()?.fetch(object, from..bytes))?),
            };
            Ok((Stored::Object(ahead), end))
        }
        other => Ok((other, None)),
    })
}

/// Opens a file, in a store with as few requests as its length allows.
fn opened(at: &At) -> io::Result<Stored> {
    let Some(url) = storage::url(&at.path) else { return Stored::open(&at.path) };
    match at.fixed {
        Some(bytes) if ahead::is_small(bytes) => Ok(Stored::Whole(Cursor::new(ahead::get(&at.path, bytes)?))),
        Some(bytes) => Ok(Stored::Object(Readahead::new(ahead::object(&at.path, bytes)))),
        None => Ok(Stored::Object(Readahead::new(storage::store()?.about(url)?))),
    }
}

/// As [`opened`]; verifies the checksum of a small table in a store.
fn verified(at: &At) -> io::Result<Stored> {
    let file = opened(at)?;
    if let (Stored::Whole(content), Some(expected)) = (&file, &at.xxh3_64) {
        listing::check(content.get_ref(), expected)?;
    }
    Ok(file)
}

/// Reads a file from end to end, calling `step` after each part. The caller may reuse the buffer.
pub fn checksum(
    path: &Path,
    buffer: &mut Vec<u8>,
    step: impl FnMut(u64) -> Result<(), StageError>,
) -> Result<Content, StageError> {
    let failed = |error| StageError::io(path, "read", error);
    let opened = match handles::table(path) {
        Some(held) => held.and_then(file).map(Stored::File),
        None => with_place(path, opened),
    };
    let mut file = opened.map_err(failed)?;
    checksum::of(|part| file.read(part), buffer, step).map_err(|failure| match failure {
        Failure::Io(error) => failed(error),
        Failure::Step(error) => error,
    })
}

/// Returns the length of a file of a run.
pub fn bytes(path: &Path) -> io::Result<u64> {
    if let Some(held) = handles::table(path) {
        return Ok(held.and_then(file)?.metadata()?.len());
    }
    with_place(path, |at| match listed(&at.path) {
        Some(bytes) => Ok(bytes),
        None => storage::about(&at.path).map(|about| about.bytes),
    })
}

/// Length of an object of a run, if its lake was listed.
fn listed(path: &Path) -> Option<u64> {
    let (name, parent) = (path.file_name()?.to_str()?, path.parent()?);
    match parent.file_name()?.to_str()? {
        folder if is_folder(folder) => inventory::of(parent.parent()?)?.bytes(Some(folder), name),
        _ => inventory::of(parent)?.bytes(None, name),
    }
}

/// True if a file of a run exists, or its rows in a pack.
pub fn exists(path: &Path) -> bool {
    bytes(path).is_ok() || in_pack(path).is_ok_and(|slice| slice.is_some())
}

/// Returns the actual path of a run's file: in a store, inside the folder of the attempt.
pub fn place_of(path: &Path) -> io::Result<PathBuf> {
    at(path).map(|at| at.path)
}

fn at(path: &Path) -> io::Result<At> {
    let here = || At { path: path.to_owned(), fixed: None, xxh3_64: None };
    let (Some(place), Some(file)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(here());
    };
    if !storage::is_url(place) || file == run::FILE {
        return Ok(here());
    }
    let layout = match known(|known| known.layouts.get(place).cloned()) {
        Some(layout) => layout,
        None => match description(place) {
            Ok((_, text)) => layout_of(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Layout::default(),
            Err(error) => return Err(error),
        },
    };
    read_next(place, file);
    Ok(layout.at(place, file).unwrap_or_else(here))
}

/// Announces that these runs are read one after the other, each table by itself or all of a run.
pub(crate) fn will_read<'a>(places: impl Iterator<Item = &'a Path>) {
    let places: Vec<&Path> = places.filter(|place| storage::is_url(place)).collect();
    let pairs = places.windows(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
    known(|known| known.next.extend(pairs));
}

/// Begins to fetch a small table of the next runs.
fn read_next(place: &Path, file: &str) {
    let next: Vec<At> = known(|known| {
        let places = std::iter::successors(known.next.get(place), |place| known.next.get(*place)).take(AT_ONCE);
        places.filter_map(|place| known.layouts.get(place)?.begun(place, file)).collect()
    });
    next.iter().for_each(begin_at);
}

/// Begins to fetch a small table of a run in a store.
pub(crate) fn begin(place: &Path, file: &str) {
    if storage::is_url(place) {
        known(|known| known.layouts.get(place)?.begun(place, file)).iter().for_each(begin_at);
    }
}

fn begin_at(at: &At) {
    if let Some(bytes) = at.fixed.filter(|bytes| ahead::is_small(*bytes)) {
        // Its reader gets the error.
        let _ = ahead::begin(&at.path, bytes);
    }
}

fn with_place<T>(path: &Path, act: impl Fn(&At) -> io::Result<T>) -> io::Result<T> {
    let place = at(path)?;
    match act(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && place.path != path => {
            // The run was replaced or removed.
            known(|known| path.parent().map(|run| known.layouts.remove(run)));
            let now = at(path)?;
            if now.path == place.path { Err(error) } else { act(&now) }
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
    if let Ok((object, _)) = &read {
        forget_other(place, object);
    }
    match &read {
        Ok((_, text)) => known(|known| known.layouts.insert(place.to_owned(), layout_of(text))),
        Err(_) => known(|known| known.layouts.remove(place)),
    };
    read
}

/// Forgets what is known of the files of a run in a store, which the caller changed.
pub fn changed(place: &Path) {
    inventory::forget(place);
    known(|known| known.layouts.remove(place));
}

/// Forgets what is known of another version of a run.
fn forget_other(place: &Path, object: &Object) {
    let tag = |objects: &inventory::Objects| objects.description.as_ref().and_then(|(_, tag)| tag.clone());
    if inventory::of(place).is_some_and(|objects| tag(&objects).as_deref() != object.tag.as_deref()) {
        changed(place);
    }
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
            let end = known.expected.len().min(at + DESCRIPTIONS);
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

/// Returns names and lengths of the files of a run: those of its folder, in a store also those of its attempt without
/// the mark. Empty if unreadable.
pub fn files(place: &Path) -> Vec<(String, u64)> {
    if !storage::is_url(place) {
        let entries = storage::entries(place).unwrap_or_default().into_iter();
        return entries.filter(|entry| !entry.is_folder).map(|entry| (entry.name, entry.bytes)).collect();
    }
    let folder = known(|known| known.layouts.get(place).and_then(|layout| layout.folder.clone()));
    if inventory::of(place).is_none() {
        // Without an answer there are no files.
        let _ = inventory::run(place);
    }
    inventory::of(place).map(|objects| objects.of_run(folder.as_deref())).unwrap_or_default()
}

/// Total bytes of a run's files.
pub fn disk_bytes(place: &Path) -> u64 {
    files(place).into_iter().map(|(_, bytes)| bytes).sum()
}

/// Remembers where the files of a run in a store are, or those of another folder.
pub(crate) fn remember(place: &Path, layout: Layout) {
    let folder = layout.folder.filter(|folder| is_folder(folder));
    known(|known| known.layouts.insert(place.to_owned(), Layout { folder, ..layout }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_folders_are_where_their_path_says() {
        let path = Path::new("lake/release=a/snapshot=b/nodes.parquet");
        assert_eq!(place_of(path).unwrap(), path);
        assert!(!exists(path));
    }
}
