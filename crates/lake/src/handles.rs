//! Runs held open, so that a reader sees one version of each.
//!
//! Another command may replace or drop a run at any moment: it exchanges or renames the folder, then removes its files.
//! A file opened before stays readable. [`Handles`] are the open tables of a run; while they live,
//! [`stored`](crate::stored) serves these tables by path from them, and [`selection`](crate::selection) returns the
//! matching description. A file that does not match the description (`listed.rs`) is never opened; its readers get an
//! error.
//!
//! A process has few handles. Runs beyond the limit are read by path, and the reader checks afterwards whether they
//! were replaced ([`FoundRun::stands`](crate::selection::FoundRun::stands)).

use crate::entry::{Entry, TableEntry};
use crate::listed::{self, Listed, Unlisted};
use crate::packs::{self, Slice};
use heaplake_kit::fs::File;
use heaplake_kit::threads::locked;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::run::Run;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Maximum open files requested from the system.
const WANTED: u64 = 16 << 10;
/// Maximum handles if the system's limit is unknown.
const USUAL: usize = 512;

/// The open tables of a run.
#[derive(Debug)]
pub struct Handles {
    place: PathBuf,
    entry: Entry,
    /// The whole description, if it was read.
    description: Option<Arc<Run>>,
    files: BTreeMap<String, Opened>,
    /// Wanted tables without a file.
    missing: Vec<String>,
    /// True if these are all existing tables of the run.
    complete: bool,
    _reserved: Reserved,
}

/// A wanted table with a file.
#[derive(Debug)]
enum Opened {
    Table(Listed),
    /// Its rows are in a pack.
    Pack(Slice),
    /// The file does not match.
    Other(Unlisted),
    /// The system refuses to open it; a reader gets the error.
    Unopened,
}

static HELD: Mutex<BTreeMap<PathBuf, Weak<Handles>>> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn held<T>(with: impl FnOnce(&mut BTreeMap<PathBuf, Weak<Handles>>) -> T) -> T {
    with(&mut locked(&HELD))
}

/// Handles counted against the limit.
#[derive(Debug)]
struct Reserved(usize);

impl Reserved {
    fn take(number: usize) -> Option<Self> {
        let reserved = Self(number);
        let before = COUNT.fetch_add(number, Ordering::Relaxed);
        (before + number <= most()).then_some(reserved)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        COUNT.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Maximum handles: half of the process's limit of open files, after raising it.
fn most() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
        if limit.current.is_some_and(|current| current < wanted) {
            // A refusal leaves the limit unchanged.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
        }
        let current = getrlimit(Resource::Nofile).current;
        current.map_or(USUAL, |current| usize::try_from(current.min(WANTED) / 2).unwrap_or(USUAL))
    })
}

impl Handles {
    /// Opens the `wanted` tables of a run. One that cannot be opened is left to its readers, which get the error.
    /// `None` if too many files are open. The handles take effect with [`Self::register`].
    pub fn open(
        place: &Path,
        (entry, description): (&Entry, Option<&Arc<Run>>),
        wanted: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let tables: Vec<&TableEntry> =
            entry.tables.iter().filter(|table| is_name(&table.file) && wanted(&table.file)).collect();
        let reserved = Reserved::take(tables.len())?;
        // A description without tables says nothing about missing ones.
        let complete = !tables.is_empty() && tables.len() == entry.tables.len();
        let (mut files, mut missing) = (BTreeMap::new(), Vec::new());
        for table in tables {
            let opened = match Listed::open(&place.join(&*table.file), table) {
                Ok(file) => Opened::Table(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match packs::slice(place, entry, &table.file) {
                        Ok(Some(slice)) => Opened::Pack(slice),
                        Ok(None) => {
                            missing.push(table.file.to_string());
                            continue;
                        }
                        Err(_) => Opened::Unopened,
                    }
                }
                Err(error) if is_limit(&error) => return None,
                Err(error) => Unlisted::of(&error).map_or(Opened::Unopened, |other| Opened::Other(other.clone())),
            };
            files.insert(table.file.to_string(), opened);
        }
        let (place, entry, description) = (place.to_owned(), entry.clone(), description.cloned());
        Some(Self { place, entry, description, files, missing, complete, _reserved: reserved })
    }

    /// Registers the handles of their place, unless it has some.
    #[must_use]
    pub fn register(self) -> Arc<Self> {
        // Dropping locks the registry, so it happens outside the lock.
        let (handles, _spare) = held(|held| match held.get(&self.place).and_then(Weak::upgrade) {
            Some(there) => (there, Some(self)),
            None => {
                let place = self.place.clone();
                let handles = Arc::new(self);
                held.insert(place, Arc::downgrade(&handles));
                (handles, None)
            }
        });
        handles
    }

    /// The run.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its description, if it was read.
    pub fn description(&self) -> Option<&Arc<Run>> {
        self.description.as_ref()
    }

    /// Wanted tables without a file.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Verifies a table (once) and returns its defect as text; `None` for one that is not held.
    pub fn check(&self, file: &str, context: &Context<'_>) -> Option<Result<Option<String>, StageError>> {
        match self.files.get(file)? {
            Opened::Table(table) => Some(listed::in_words(table.check(&|| context.check()))),
            Opened::Other(other) => Some(Ok(Some(other.to_string()))),
            // Each page is checked when it is read.
            Opened::Pack(_) => Some(Ok(None)),
            Opened::Unopened => None,
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        held(|held| {
            if held.get(&self.place).is_some_and(|there| there.strong_count() == 0) {
                held.remove(&self.place);
            }
        });
    }
}

/// True if too many files are open.
fn is_limit(error: &io::Error) -> bool {
    let limits = [Errno::MFILE, Errno::NFILE];
    error.raw_os_error().is_some_and(|code| limits.iter().any(|limit| limit.raw_os_error() == code))
}

/// True if the name is a plain file name: a damaged or hostile description may name any path.
fn is_name(file: &str) -> bool {
    Path::new(file).file_name().is_some_and(|name| name == file)
}

/// Returns the handles of a place.
pub fn of(place: &Path) -> Option<Arc<Handles>> {
    held(|held| held.get(place).and_then(Weak::upgrade))
}

/// A held table.
pub(crate) enum Held {
    /// Its file.
    File(File),
    /// Its rows in a pack.
    Pack(Slice),
}

/// Returns a held table; `None` for other files.
pub(crate) fn table(path: &Path) -> Option<io::Result<Held>> {
    let (place, name) = (path.parent()?, path.file_name()?.to_str()?);
    let handles = of(place)?;
    match handles.files.get(name) {
        // Table readers read at positions; a sequential reader has the shared file position to itself.
        Some(Opened::Table(table)) => Some(table.checked().and_then(|file| {
            let mut file = file.as_std().try_clone()?;
            file.rewind()?;
            Ok(Held::File(File::from_std(file)))
        })),
        Some(Opened::Pack(slice)) => Some(Ok(Held::Pack(slice.clone()))),
        Some(Opened::Other(other)) => Some(Err(other.clone().into())),
        None if handles.complete && path.extension().is_some_and(|ending| ending == "parquet") => {
            Some(Err(io::ErrorKind::NotFound.into()))
        }
        Some(Opened::Unopened) | None => None,
    }
}
