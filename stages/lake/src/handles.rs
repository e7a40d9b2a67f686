//! Runs that a reader holds open, so that it reads one version of them.
//!
//! Another command may replace or drop a run at any moment: its folder is exchanged or renamed as a whole, then its files
//! are removed. A file that was opened before stays readable. [`Handles`] are the open files of the tables of a run; while
//! they live, [`stored`](crate::stored) opens these tables by their paths from them, and
//! [`selection`](crate::selection) returns the description that belongs to them. A file that is not the table of the
//! description (`listed.rs`) is opened for nobody: it is an error of whoever reads it.
//!
//! Handles are few: a process has a limit of them. Runs beyond it are read by path, and the reader looks afterwards
//! whether they were replaced ([`Found::stands`](crate::selection::Found::stands)).

use crate::listed::{self, Listed, Unlisted};
use heaplake_kit::fs::File;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::run::{Run, Table};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Open files that this process asks the system for, at most.
const WANTED: u64 = 16 << 10;
/// Open files that are held where the limit of the system is not known.
const USUAL: usize = 512;

/// The open tables of a run.
#[derive(Debug)]
pub struct Handles {
    place: PathBuf,
    run: Run,
    files: BTreeMap<String, Opened>,
    /// Wanted tables whose file was not there.
    missing: Vec<String>,
    /// Whether they are all tables of the run that are there.
    complete: bool,
    _reserved: Reserved,
}

/// A table that is wanted and there.
#[derive(Debug)]
enum Opened {
    Table(Listed),
    /// The file is another one.
    Other(Unlisted),
    /// The system does not open it: whoever needs it is told why.
    Unopened,
}

static HELD: Mutex<BTreeMap<PathBuf, Weak<Handles>>> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn held<T>(with: impl FnOnce(&mut BTreeMap<PathBuf, Weak<Handles>>) -> T) -> T {
    with(&mut HELD.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Handles that are counted against the limit.
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

/// Handles that may be held: half of the limit of the process, which is raised as far as the system lets it.
fn most() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
        if limit.current.is_some_and(|current| current < wanted) {
            // A system that refuses leaves the limit as it is.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
        }
        let current = getrlimit(Resource::Nofile).current;
        current.map_or(USUAL, |current| usize::try_from(current.min(WANTED) / 2).unwrap_or(USUAL))
    })
}

impl Handles {
    /// Opens the tables of a run that are `wanted`. One that cannot be opened is opened by its path when it is read, so that
    /// it is an error of whoever needs it. Returns `None` where there are too many open files. The handles count only after
    /// [`Self::register`].
    #[must_use]
    pub fn open(place: &Path, run: &Run, wanted: &dyn Fn(&str) -> bool) -> Option<Self> {
        let tables: Vec<&Table> =
            run.tables.iter().filter(|table| is_name(&table.file) && wanted(&table.file)).collect();
        let reserved = Reserved::take(tables.len())?;
        // A description that lists no table says nothing of which there are.
        let complete = !tables.is_empty() && tables.len() == run.tables.len();
        let (mut files, mut missing) = (BTreeMap::new(), Vec::new());
        for table in tables {
            let opened = match Listed::open(&place.join(&table.file), table) {
                Ok(file) => Opened::Table(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(table.file.clone());
                    continue;
                }
                Err(error) if is_limit(&error) => return None,
                Err(error) => Unlisted::of(&error).map_or(Opened::Unopened, |other| Opened::Other(other.clone())),
            };
            files.insert(table.file.clone(), opened);
        }
        let (place, run) = (place.to_owned(), run.clone());
        Some(Self { place, run, files, missing, complete, _reserved: reserved })
    }

    /// Makes these handles those of their place, unless the place has some.
    #[must_use]
    pub fn register(self) -> Arc<Self> {
        // What is dropped locks the table of handles, so it is dropped outside.
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

    /// The run that they belong to.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Files of wanted tables that were not there.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// What is wrong with a table, in words: reads it, unless that was done before. Returns `None` for one that is not held.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    pub fn check(&self, file: &str, context: &Context<'_>) -> Option<Result<Option<String>, StageError>> {
        match self.files.get(file)? {
            Opened::Table(table) => Some(listed::in_words(table.check(&|| context.check()))),
            Opened::Other(other) => Some(Ok(Some(other.to_string()))),
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

/// Whether too many files are open.
fn is_limit(error: &io::Error) -> bool {
    let limits = [Errno::MFILE, Errno::NFILE];
    error.raw_os_error().is_some_and(|code| limits.iter().any(|limit| limit.raw_os_error() == code))
}

/// Whether a description names a file of its folder: one that is damaged or hostile may name any path.
fn is_name(file: &str) -> bool {
    Path::new(file).file_name().is_some_and(|name| name == file)
}

/// The handles of a place.
#[must_use]
pub fn of(place: &Path) -> Option<Arc<Handles>> {
    held(|held| held.get(place).and_then(Weak::upgrade))
}

/// A table of a run that is held; nothing for other files.
pub(crate) fn table(path: &Path) -> Option<io::Result<File>> {
    let (place, name) = (path.parent()?, path.file_name()?.to_str()?);
    let handles = of(place)?;
    match handles.files.get(name) {
        // Readers of tables read at positions; who reads from the beginning to the end shares the position with no other.
        Some(Opened::Table(table)) => Some(table.checked().and_then(|file| {
            let mut file = file.as_std().try_clone()?;
            file.rewind()?;
            Ok(File::from_std(file))
        })),
        Some(Opened::Other(other)) => Some(Err(other.clone().into())),
        None if handles.complete && path.extension().is_some_and(|ending| ending == "parquet") => {
            Some(Err(io::ErrorKind::NotFound.into()))
        }
        Some(Opened::Unopened) | None => None,
    }
}
