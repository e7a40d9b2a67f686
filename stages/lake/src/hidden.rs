//! A hidden folder for files that go, or are moved away, when a command ends.
//!
//! Its name cannot be guessed, only its owner can look into it, and it is locked by the process that uses it: so
//! whoever makes the next one beside it can tell the folders that killed processes left, and removes them.

use heaplake_kit::{StageError, fs};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::symlink_metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder, removed when dropped.
#[derive(Debug)]
pub struct Hidden {
    path: PathBuf,
    _locked: OwnedFd,
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
            // Another process may have taken it for a leftover before it was locked.
            if let Some(_locked) = locked(&path) {
                return Ok(Self { path, _locked });
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
        if entry.file_name().to_string_lossy().starts_with(prefix) && locked(&entry.path()).is_some() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder, locked, if no other process has it.
fn locked(path: &Path) -> Option<OwnedFd> {
    let folder =
        open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    rustix::io::retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)).ok()?;
    let (mine, there) = (rustix::fs::fstat(&folder).ok()?, symlink_metadata(path).ok()?);
    ((mine.st_dev, mine.st_ino) == (there.dev(), there.ino())).then_some(folder)
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
