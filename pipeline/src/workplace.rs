//! Where a run works: one scratch folder per input, held by one process at a time.

use crate::analyze::{Failure, Request};
use crate::inputs;
use crate::journal::Journal;
use heaplake_ingest::source::Input;
use heaplake_kit::{Scratch, StageError};
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The scratch folder of one input, locked as long as it is in use. All that was made for it goes in the end, also when
/// only a part of it could be made; its fields are dropped from the inside out.
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
    /// [`Failure::Busy`] when another process has it; [`StageError::Io`].
    pub fn take(request: &Request) -> Result<Self, Failure> {
        let name = format!("{}-{:016x}", inputs::stem(&request.input), identity(request));
        let (root, lock) = loop {
            let root = Root::make(request)?;
            match Lock::take(root.folder.join(format!("{name}.lock"))) {
                // Another process was done and removed the folder before anything of this one was in it.
                Err(Failure::Stage(StageError::Io { source, .. }))
                    if root.own && source.kind() == io::ErrorKind::NotFound => {}
                lock => break (root, lock?),
            }
        };
        let (scratch, journal) = Journal::open(&root.folder.join(name), request)?;
        Ok(Self { scratch, journal, keep: false, _lock: lock, _root: root })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed is only space; the outcome of the run does not depend on it.
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
            // Goes only if nobody else works there.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// A file that one process at a time holds locked.
struct Lock {
    path: PathBuf,
    _locked: File,
}

impl Lock {
    fn take(path: PathBuf) -> Result<Self, Failure> {
        loop {
            let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Failure::Busy { lock: path }),
                Err(TryLockError::Error(error)) => return Err(StageError::io(&path, "lock", error).into()),
            }
            // Its last holder may have removed the file between the two steps; then somebody else may lock a new one.
            let same = |other: fs::Metadata| {
                file.metadata().is_ok_and(|mine| (mine.dev(), mine.ino()) == (other.dev(), other.ino()))
            };
            if fs::metadata(&path).is_ok_and(same) {
                return Ok(Self { path, _locked: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Tells apart the inputs that may share a scratch root.
fn identity(request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    let path = match &request.input {
        Input::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Input::Stdin => PathBuf::from("-"),
    };
    (path, &request.release, &request.snapshot).hash(&mut hasher);
    hasher.finish()
}
