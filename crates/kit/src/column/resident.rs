//! Columns in memory, within a limit.
//!
//! A scratch folder may have [`Residents`]: columns without a file. A writer keeps a column in memory if the limit
//! allows, and otherwise writes all of it to its file; readers and maps access the memory directly, without copies. The
//! owner of the folder may later move columns to their files ([`Scratch::limit_residents`]).
//!
//! [`Scratch::limit_residents`]: crate::Scratch::limit_residents

use super::packing::Width;
use super::store::{Store, Tract};
use super::target::write_file;
use crate::StageError;
use crate::checksums::Checksum;
use crate::threads::locked;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Columns up to this many bytes use a plain vector; most columns of a small input do.
const SMALL: usize = 256 << 10;
/// Minimum alignment of the memory, and maximum alignment of elements.
pub(super) const ALIGNMENT: usize = align_of::<u64>();

/// The columns of a scratch folder in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Residents(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    store: Arc<Store>,
    /// Keyed by path text: comparing paths component-wise would dominate many operations.
    columns: Mutex<FxHashMap<OsString, Arc<Pages>>>,
    /// True if the folder may contain named files.
    has_files: AtomicBool,
}

/// A finished column in memory, aligned to [`ALIGNMENT`].
#[derive(Debug)]
pub(crate) struct Pages {
    memory: Memory,
    length: usize,
    /// Packing of its file, if any.
    width: Option<Width>,
    store: Arc<Store>,
    /// Cache of the parsed document in these bytes.
    parsed: OnceLock<Arc<dyn Any + Send + Sync>>,
}

#[derive(Debug)]
enum Memory {
    Small(Vec<u64>),
    Large(Arc<Tract>),
}

impl Pages {
    /// The bytes of the column.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Small(words) => &bytemuck::cast_slice(words)[..self.length],
            Memory::Large(tract) => tract.bytes(self.length),
        }
    }

    /// Returns the result of `parse` on the bytes, cached.
    pub(crate) fn parsed<T: Any + Send + Sync, E>(
        &self,
        parse: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let known = self.parsed.get().and_then(|parsed| Arc::clone(parsed).downcast().ok());
        if let Some(parsed) = known {
            return Ok(parsed);
        }
        let parsed = Arc::new(parse(self.bytes())?);
        // Another thread may have been first, with the same result.
        let _ = self.parsed.set(Arc::<T>::clone(&parsed));
        Ok(parsed)
    }

    /// Bytes of memory.
    fn taken(&self) -> u64 {
        match &self.memory {
            Memory::Small(words) => (words.len() * ALIGNMENT) as u64,
            Memory::Large(tract) => tract.taken(),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Memory::Small(words) = &self.memory {
            self.store.give_back((words.len() * ALIGNMENT) as u64);
        }
    }
}

/// A column being written.
#[derive(Debug)]
pub(crate) struct Growing {
    pages: Pages,
}

impl Growing {
    /// The bytes so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.pages.bytes()
    }

    /// Appends bytes; false, with nothing changed, if they exceed the limit.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let end = self.pages.length + bytes.len();
        let Pages { memory, length, store, .. } = &mut self.pages;
        if let Memory::Small(words) = memory {
            let there = words.len() * ALIGNMENT;
            if end > SMALL {
                let Some(tract) = Tract::new(store, end, bytemuck::cast_slice(words).get(..*length)) else {
                    return false;
                };
                store.give_back(there as u64);
                *memory = Memory::Large(tract);
            } else {
                let wanted = end.next_power_of_two().max(512);
                if end > there && !store.take((wanted - there) as u64) {
                    return false;
                }
                if end > there {
                    words.resize(wanted / ALIGNMENT, 0);
                }
                bytemuck::cast_slice_mut(words)[*length..end].copy_from_slice(bytes);
            }
        }
        if let Memory::Large(tract) = memory
            && !tract.append(bytes)
        {
            return false;
        }
        *length = end;
        true
    }

    /// Ends the column and releases surplus memory.
    fn finish(mut self) -> Pages {
        let length = self.pages.length;
        match &mut self.pages.memory {
            Memory::Small(words) => {
                let there = words.len();
                words.truncate(length.div_ceil(ALIGNMENT));
                words.shrink_to_fit();
                self.pages.store.give_back(((there - words.len()) * ALIGNMENT) as u64);
            }
            Memory::Large(tract) => tract.release(),
        }
        self.pages
    }
}

impl Residents {
    /// Creates a set of columns of at most `limit` bytes in total.
    pub fn new(limit: u64) -> Self {
        let residents = Self::default();
        residents.0.store.set_limit(limit);
        residents
    }

    /// Enables a background thread that clears pages ahead of writers.
    #[must_use]
    pub fn hurried(self) -> Self {
        self.0.store.hurry();
        self
    }

    /// Bytes of the columns.
    pub fn used(&self) -> u64 {
        self.0.store.used()
    }

    /// Bytes of the columns and of the pool.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.0.store.taken()
    }

    /// Records that the folder gets a named file.
    pub(crate) fn note_file(&self) {
        self.0.has_files.store(true, Ordering::Relaxed);
    }

    /// False if the folder has no named files, so the file system need not be asked.
    pub(crate) fn has_files(&self) -> bool {
        self.0.has_files.load(Ordering::Relaxed)
    }

    /// Sets the limit. Columns beyond it are written to their files, largest first; borrowed columns stay. Call while
    /// no column is written. Returns the evicted paths with the checksums of their files. A column that fails to be
    /// written stays.
    pub(crate) fn limit_to(&self, limit: u64) -> Result<Vec<(OsString, Checksum)>, StageError> {
        let store = &self.0.store;
        store.set_limit(limit);
        let mut gone = Vec::new();
        while self.used() > limit {
            let mut columns = locked(&self.0.columns);
            let unused = columns.iter().filter(|(_, pages)| Arc::strong_count(pages) == 1);
            let Some((path, pages)) = unused.max_by_key(|(path, pages)| (pages.taken(), *path)) else { break };
            let path = path.clone();
            self.note_file();
            let sum = write_file(Path::new(&path), pages.bytes(), pages.width)?;
            columns.remove(&path);
            gone.push((path, sum));
        }
        store.clear_beyond(limit);
        Ok(gone)
    }

    /// Begins a column with a file packed with `width`.
    pub(crate) fn grow(&self, width: Option<Width>) -> Growing {
        let store = Arc::clone(&self.0.store);
        Growing { pages: Pages { memory: Memory::Small(Vec::new()), length: 0, width, store, parsed: OnceLock::new() } }
    }

    /// Reopens a column for appending, if it is in memory; `Err` if it does not fit copied. Until [`put`](Self::put),
    /// readers see it unchanged.
    pub(super) fn reopen(&self, path: &Path) -> Option<Result<Growing, Arc<Pages>>> {
        let pages = self.get(path)?;
        let store = Arc::clone(&self.0.store);
        if let Memory::Large(tract) = &pages.memory
            && tract.lend(pages.length)
        {
            let memory = Memory::Large(Arc::clone(tract));
            let (length, width, parsed) = (pages.length, pages.width, OnceLock::new());
            return Some(Ok(Growing { pages: Pages { memory, length, width, store, parsed } }));
        }
        let mut copy = self.grow(pages.width);
        Some(if copy.push(pages.bytes()) { Ok(copy) } else { Err(pages) })
    }

    /// Stores a column under a name, replacing the previous one.
    pub(super) fn put(&self, path: &Path, growing: Growing) {
        let before = locked(&self.0.columns).insert(path.into(), Arc::new(growing.finish()));
        drop(before);
    }

    /// Stores bytes under a name; false if they exceed the limit.
    pub(crate) fn keep(&self, path: &Path, bytes: &[u8]) -> bool {
        let mut growing = self.grow(None);
        let fits = growing.push(bytes);
        if fits {
            self.put(path, growing);
        }
        fits
    }

    /// Returns the column of a name.
    pub(crate) fn get(&self, path: &Path) -> Option<Arc<Pages>> {
        locked(&self.0.columns).get(path.as_os_str()).cloned()
    }

    /// Returns the bytes of the column of a name.
    pub(crate) fn length(&self, path: &Path) -> Option<u64> {
        locked(&self.0.columns).get(path.as_os_str()).map(|pages| pages.length as u64)
    }

    /// Removes a column; false if it is not in memory.
    pub(crate) fn remove(&self, path: &Path) -> bool {
        locked(&self.0.columns).remove(path.as_os_str()).is_some()
    }

    /// Renames a column; false if it is not in memory.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> bool {
        let mut columns = locked(&self.0.columns);
        let Some(pages) = columns.remove(from.as_os_str()) else { return false };
        columns.insert(to.into(), pages);
        true
    }

    /// Gives a column a second name; false if it is not in memory.
    pub(crate) fn share(&self, from: &Path, to: &Path) -> bool {
        let mut columns = locked(&self.0.columns);
        let Some(pages) = columns.get(from.as_os_str()).cloned() else { return false };
        columns.insert(to.into(), pages);
        true
    }

    /// Truncates a column that is not borrowed; false if it is not in memory.
    pub(crate) fn cut(&self, path: &Path, length: u64) -> bool {
        let mut columns = locked(&self.0.columns);
        let Some(pages) = columns.get_mut(path.as_os_str()).and_then(Arc::get_mut) else { return false };
        pages.length = pages.length.min(length as usize);
        pages.parsed = OnceLock::new();
        true
    }
}
