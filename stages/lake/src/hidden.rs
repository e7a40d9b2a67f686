//! A hidden folder for files that go, or are moved away, when a command ends.
//!
//! Its name cannot be guessed, only its owner can look into it, and it is locked by the process that uses it: so
//! whoever makes the next one beside it can tell the folders that killed processes left, and removes them.

use heaplake_kit::{StageError, fs};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::fs::{Metadata, symlink_metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder, removed when dropped.
#[derive(Debug)]
pub struct Hidden {
    path: PathBuf,
    _locked: Option<OwnedFd>,
}

impl Hidden {
    /// Makes one inside `folder`; its name begins with `prefix`.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(folder: &Path, prefix: &str) -> Result<Self, StageError> {
        sweep(folder, prefix);
        let failed = |error: io::Error| StageError::io(folder, "create a folder in", error);
        loop {
            fs::before_folder(folder).map_err(failed)?;
            let made = tempfile::Builder::new().prefix(prefix).tempdir_in(folder).map_err(failed)?;
            let path = made.keep();
            match locked(&path) {
                Ok(Some(locked)) => return Ok(Self { path, _locked: Some(locked) }),
                // Another process took it for a leftover before it was locked.
                Ok(None) => {}
                // A file system without locks on folders, where nobody can take it for one.
                Err(_) => return Ok(Self { path, _locked: None }),
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A folder that cannot be removed is hidden, and the next command removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders that killed processes left.
pub fn sweep(folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) && matches!(locked(&entry.path()), Ok(Some(_))) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder, locked; nothing where another process has it, or removed it.
fn locked(path: &Path) -> io::Result<Option<OwnedFd>> {
    let wanted = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match open(path, wanted, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        folder => folder?,
    };
    match rustix::io::retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    let mine = rustix::fs::fstat(&folder)?;
    let same = |there: Metadata| (mine.st_dev, mine.st_ino) == (there.dev(), there.ino());
    Ok(symlink_metadata(path).is_ok_and(same).then_some(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_goes() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".it-left");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("file"), "").unwrap();
        let one = Hidden::create(folder.path(), ".it-").unwrap();
        let other = Hidden::create(folder.path(), ".it-").unwrap();
        assert!(!left.exists() && one.path().exists() && other.path().exists());
        drop((one, other));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
