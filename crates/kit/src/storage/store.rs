//! The interface of object stores.

use bytes::Bytes;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::Receiver;
use std::time::SystemTime;

/// Metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its URL.
    pub url: String,
    /// Length in bytes.
    pub bytes: u64,
    /// The store's version tag of the content (ETag).
    pub tag: Option<String>,
    /// Time of the last write.
    pub changed: SystemTime,
}

/// Listing of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Names of prefixes below, sorted; empty if all objects below are listed.
    pub folders: Vec<String>,
    /// The objects, sorted by URL.
    pub objects: Vec<Object>,
    /// URLs of keys that are no paths, such as `a//b`, `a/../b` or `a/`, sorted. heaplake never creates such keys.
    pub foreign: Vec<String>,
    /// Time of the answer by the store's clock, if reported.
    pub answered: Option<SystemTime>,
}

impl Level {
    /// True if the listing is empty.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.objects.is_empty() && self.foreign.is_empty()
    }
}

/// Condition of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// Unconditional.
    Always,
    /// No object of this name exists (If-None-Match).
    IfNone,
    /// The existing object has this tag (If-Match).
    IfStill(String),
}

/// Requests in flight at a time.
pub const AT_ONCE: usize = 16;

/// A fetch in flight.
pub type Fetch = Receiver<io::Result<Bytes>>;

/// An object store. All calls but [`Self::fetch`] block, retry transient errors, and end on
/// [cancellation](crate::stop). Their errors are [`Failure`]s.
pub trait Store: Send + Sync {
    /// Returns the metadata of an object; [`io::ErrorKind::NotFound`] if it does not exist.
    fn about(&self, url: &str) -> io::Result<Object>;

    /// Lists all objects below a prefix.
    fn list(&self, url: &str) -> io::Result<Level>;

    /// Lists all objects below a prefix in parallel, cut at some URLs, sorted. Calls `take` with each piece, in any
    /// order; a key that is no path may be in several.
    fn pieces(&self, url: &str, cuts: &[String], take: &mut dyn FnMut(Level)) -> io::Result<()>;

    /// Lists the objects and prefixes directly below a prefix.
    fn level(&self, url: &str) -> io::Result<Level>;

    /// Begins to fetch a range of an object; fails if its content no longer has its tag. Fetches beyond
    /// [`AT_ONCE`] wait.
    fn fetch(&self, object: &Object, range: Range<u64>) -> Fetch;

    /// Reads a whole small object, with its metadata. Objects of more than `most` bytes are not read.
    ///
    /// # Errors
    /// [`TooLong`](crate::fs::TooLong) for a longer one.
    fn read(&self, url: &str, most: u64) -> io::Result<(Object, Bytes)>;

    /// Reads several objects in parallel; results are in the order of `urls`.
    fn read_all(&self, urls: &[String], most: u64) -> Vec<io::Result<(Object, Bytes)>>;

    /// Writes a small object conditionally; [`io::ErrorKind::AlreadyExists`] if the condition fails.
    /// Returns the object's tag, if the store tells it.
    fn put(&self, url: &str, content: Bytes, only: Only) -> io::Result<Option<String>>;

    /// Writes several small objects in parallel, as [`Self::put`]; results are in the order of `puts`.
    fn put_all(&self, puts: Vec<(String, Bytes, Only)>) -> Vec<io::Result<Option<String>>>;

    /// Uploads files as objects in parallel, large ones in parts. The first error ends the rest.
    fn upload(&self, files: &[(PathBuf, String)]) -> io::Result<()>;

    /// Removes objects of one bucket, if they exist.
    fn remove(&self, urls: Vec<String>) -> io::Result<()>;
}

/// Message of a store, inside an [`io::Error`].
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// Creates an error of a kind, with the message in one line.
    pub fn of(kind: io::ErrorKind, said: &str) -> io::Error {
        io::Error::new(kind, Self(said.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    /// True if the error comes from a store, not from the content read.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

static STORE: OnceLock<Box<dyn Store>> = OnceLock::new();

/// Registers the object store. Only the first call counts.
pub fn install(store: Box<dyn Store>) {
    let _ = STORE.set(store);
}

/// Returns the object store.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if this build has none.
pub fn store() -> io::Result<&'static dyn Store> {
    let none = || Failure::of(io::ErrorKind::Unsupported, "this build of heaplake has no object stores");
    STORE.get().map(|store| &**store).ok_or_else(none)
}
