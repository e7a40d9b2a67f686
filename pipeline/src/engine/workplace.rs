//! Where a run works: one scratch folder per input, locked by one process at a time.

use super::journal::Journal;
use super::request::Request;
use crate::complaint::Complaint;
use crate::inputs;
use heaplake_input::source::Input;
use heaplake_kit::{Scratch, StageError};
use heaplake_lake::lock::Lock;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// The scratch folder of one input, locked as long as it is in use. Everything that was made for it is removed in the
/// end, also when only a part could be made. The order of the fields is the order in which they are dropped.
pub struct Workplace {
    /// The folder.
    pub scratch: Scratch,
    /// What was done in it, now and by earlier runs.
    pub journal: Journal,
    /// Whether the folder stays when this is dropped, so that a later run can go on.
    pub keep: bool,
    _lock: Lock,
    _root: Root,
}

/// Folder inside a lake that holds scratch; its name keeps it out of every `release=*` pattern.
pub const SCRATCH: &str = ".heaplake-scratch";

impl Workplace {
    /// Takes the folder for an input, as an earlier run on the same input left it, or empty.
    ///
    /// # Errors
    /// [`Complaint`], also when another process has it.
    pub fn take(request: &Request) -> Result<Self, Complaint> {
        let name = format!("{}-{:016x}", inputs::stem(&request.input), identity(request));
        let (root, lock) = loop {
            let root = Root::make(request)?;
            let path = root.folder.join(format!("{name}.lock"));
            match Lock::try_take(path.clone()) {
                // Another process finished and removed the folder before this one wrote anything into it.
                Err(StageError::Io { source, .. }) if root.own && source.kind() == io::ErrorKind::NotFound => {}
                lock => break (root, lock?.ok_or_else(|| busy(&path))?),
            }
        };
        let (scratch, journal) = Journal::open(&root.folder.join(name), request)?;
        Ok(Self { scratch, journal, keep: false, _lock: lock, _root: root })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !self.keep {
            // A file that cannot be removed only wastes space; the outcome of the run does not depend on it.
            let _ = fs::remove_dir_all(self.scratch.folder());
        }
    }
}

/// The folder around scratch folders.
struct Root {
    folder: PathBuf,
    /// Whether it was made by heaplake, which then removes it when it is empty.
    own: bool,
}

impl Root {
    fn make(request: &Request) -> Result<Self, StageError> {
        let folder = request.scratch.clone().unwrap_or_else(|| request.lake.join(SCRATCH));
        fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
        Ok(Self { folder, own: request.scratch.is_none() })
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.own {
            // Removes it only if it is empty: no other process works there.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

fn busy(lock: &Path) -> Complaint {
    let cause = format!("{}: another heaplake is at work on this input", lock.display());
    Complaint::failed(cause, "wait until it is done")
}

/// Tells apart the inputs that may share a scratch root.
fn identity(request: &Request) -> u64 {
    let path = match &request.input {
        Input::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Input::Stdin => PathBuf::from("-"),
    };
    let snapshot = request.snapshot.as_deref().unwrap_or_default();
    // A zero byte separates: no path and no name has one.
    let parts = [path.as_os_str().as_bytes(), request.release.as_bytes(), snapshot.as_bytes()];
    xxh3_64(&parts.join(&0))
}
