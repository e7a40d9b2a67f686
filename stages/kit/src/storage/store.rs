//! Object stores, as the rest of heaplake knows them.

use bytes::Bytes;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::Receiver;
use std::time::SystemTime;

/// An object as a store describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its URL.
    pub url: String,
    /// Its length.
    pub bytes: u64,
    /// The store's name for its content, which changes with it.
    pub tag: Option<String>,
    /// When it was written.
    pub changed: SystemTime,
}

/// What lies below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Names of what has more below, sorted; none where all objects below are listed.
    pub folders: Vec<String>,
    /// The objects, sorted by URL.
    pub objects: Vec<Object>,
    /// URLs of keys that are no paths, such as `a//b`, `a/../b` or `a/`, sorted. Nothing of heaplake's has such a key.
    pub foreign: Vec<String>,
    /// When the store answered, by its own clock, where it says so.
    pub answered: Option<SystemTime>,
}

impl Level {
    /// Whether nothing is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.objects.is_empty() && self.foreign.is_empty()
    }
}

/// On what condition an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// On none.
    Always,
    /// There is none of this name.
    IfNone,
    /// The one that is there has this tag.
    IfStill(String),
}

/// Bytes that are on their way.
pub type Fetch = Receiver<io::Result<Bytes>>;

/// The object stores. All calls but [`Self::fetch`] wait; each retries what may pass, and ends when the user wants to
/// [stop](crate::stop).
pub trait Store: Send + Sync {
    /// An object. [`io::ErrorKind::NotFound`] where there is none.
    ///
    /// # Errors
    /// A [`Failure`], as of all calls.
    fn about(&self, url: &str) -> io::Result<Object>;

    /// All objects below a prefix.
    ///
    /// # Errors
    /// A [`Failure`].
    fn list(&self, url: &str) -> io::Result<Level>;

    /// What lies directly below a prefix.
    ///
    /// # Errors
    /// A [`Failure`].
    fn level(&self, url: &str) -> io::Result<Level>;

    /// Begins to fetch a part of an object; fails where its content is no longer that of its tag.
    fn fetch(&self, object: &Object, range: Range<u64>) -> Fetch;

    /// A whole small object, with what it is. Nothing is read of one with more than `most` bytes.
    ///
    /// # Errors
    /// A [`Failure`]; [`TooLong`](crate::fs::TooLong).
    fn read(&self, url: &str, most: u64) -> io::Result<(Object, Bytes)>;

    /// Several of them, many at a time, in their order.
    fn read_all(&self, urls: &[String], most: u64) -> Vec<io::Result<(Object, Bytes)>>;

    /// Writes a small object. [`io::ErrorKind::AlreadyExists`] where the condition does not hold.
    ///
    /// # Errors
    /// A [`Failure`].
    fn put(&self, url: &str, content: Bytes, only: Only) -> io::Result<()>;

    /// Writes a file as an object, a large one in parts.
    ///
    /// # Errors
    /// A [`Failure`], and those of the system.
    fn upload(&self, from: &Path, url: &str) -> io::Result<()>;

    /// Removes objects, which need not exist.
    ///
    /// # Errors
    /// A [`Failure`].
    fn remove(&self, urls: Vec<String>) -> io::Result<()>;
}

/// What a store said, inside an [`io::Error`].
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// As an error of a kind, in one line.
    #[must_use]
    pub fn of(kind: io::ErrorKind, said: &str) -> io::Error {
        io::Error::new(kind, Self(said.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    /// Whether an error is one of a store, not of what was read from it.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

static STORE: OnceLock<Box<dyn Store>> = OnceLock::new();

/// Hands in the object stores. The first ones stay.
pub fn install(store: Box<dyn Store>) {
    let _ = STORE.set(store);
}

/// The object stores.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where this build has none.
pub fn store() -> io::Result<&'static dyn Store> {
    let none = || Failure::of(io::ErrorKind::Unsupported, "this build of heaplake has no object stores");
    STORE.get().map(|store| &**store).ok_or_else(none)
}
