//! Whole small tables of runs in a store: fetched before they are read, and kept for the next reader.
//!
//! Most tables are shorter than the footer that a reader asks for first. So one request gets such a table, and readers
//! of many runs have the tables of the next ones under way. A table of an attempt never changes, so kept bytes stay valid.
//!
//! Memory: [`ROOM`], of which the oldest tables make way for new ones.

use bytes::Bytes;
use heaplake_kit::storage::{self, Failure, Fetch, Object};
use heaplake_kit::threads::locked;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

/// Longest table that is fetched as a whole.
pub(crate) const SMALL: u64 = 256 << 10;
/// Bytes of tables that are kept or under way.
const ROOM: u64 = 24 << 20;

/// Tables by path in the store.
#[derive(Default)]
struct Tables {
    known: BTreeMap<PathBuf, (Arc<Table>, u64)>,
    /// The oldest first.
    order: VecDeque<PathBuf>,
    bytes: u64,
}

type Table = Mutex<Content>;

enum Content {
    Coming(Fetch),
    There(Bytes),
    Failed(io::ErrorKind, String),
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

fn tables<T>(with: impl FnOnce(&mut Tables) -> T) -> T {
    with(locked(&TABLES).get_or_insert_default())
}

/// Whether a table of this length is fetched as a whole.
pub(crate) fn is_small(bytes: u64) -> bool {
    (1..=SMALL).contains(&bytes)
}

/// An object of a known length that never changes.
pub(crate) fn object(path: &Path, bytes: u64) -> Object {
    Object { url: path.to_string_lossy().into_owned(), bytes, tag: None, changed: UNIX_EPOCH }
}

/// Begins to fetch a small table, unless it is known.
pub(crate) fn begin(path: &Path, bytes: u64) -> io::Result<()> {
    table(path, bytes).map(drop)
}

fn table(path: &Path, bytes: u64) -> io::Result<Arc<Table>> {
    let store = storage::store()?;
    Ok(tables(|tables| {
        if let Some((table, _)) = tables.known.get(path) {
            return Arc::clone(table);
        }
        while tables.bytes + bytes > ROOM
            && let Some(oldest) = tables.order.pop_front()
        {
            tables.remove(&oldest);
        }
        let table = Arc::new(Mutex::new(Content::Coming(store.fetch(&object(path, bytes), 0..bytes))));
        tables.known.insert(path.to_owned(), (Arc::clone(&table), bytes));
        tables.order.push_back(path.to_owned());
        tables.bytes += bytes;
        table
    }))
}

impl Tables {
    fn remove(&mut self, path: &Path) {
        if let Some((_, bytes)) = self.known.remove(path) {
            self.bytes -= bytes;
        }
    }
}

/// Returns a small table.
pub(crate) fn get(path: &Path, bytes: u64) -> io::Result<Bytes> {
    let table = table(path, bytes)?;
    let mut content = locked(&table);
    let read = match &*content {
        Content::There(bytes) => return Ok(bytes.clone()),
        Content::Failed(kind, said) => return Err(Failure::of(*kind, said)),
        Content::Coming(fetch) => storage::wait(fetch),
    };
    *content = match &read {
        Ok(bytes) => Content::There(bytes.clone()),
        Err(error) => {
            tables(|tables| {
                tables.remove(path);
                tables.order.retain(|other| other != path);
            });
            Content::Failed(error.kind(), error.to_string())
        }
    };
    read
}
