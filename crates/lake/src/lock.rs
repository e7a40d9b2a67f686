//! A lock held by one process at a time.
//!
//! The lock is on a file or a folder, and the system releases it when its process ends in any way. A lock file is
//! removed on drop. An existing file is never truncated, never reached through a symbolic link, and never waited for: a
//! pipe or a socket is an error.

use heaplake_kit::StageError;
use heaplake_kit::fs::{self, File};
use std::fs::{Metadata, TryLockError, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A locked file, released and removed on drop.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _locked: File,
}

impl Lock {
    /// Locks the file at `path`, created if needed; `None` if another process has the lock.
    pub fn try_take(path: PathBuf) -> Result<Option<Self>, StageError> {
        loop {
            let file = File::lockable(&path).map_err(|error| StageError::io(&path, "lock", error))?;
            match file.as_std().try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(error)) => return Err(StageError::io(&path, "lock", error)),
            }
            // The former holder may have removed the file between the two steps; then another process may lock a new
            // one.
            let same = |other: Metadata| {
                file.metadata().is_ok_and(|mine| (mine.dev(), mine.ino()) == (other.dev(), other.ino()))
            };
            if symlink_metadata(&path).is_ok_and(same) {
                return Ok(Some(Self { path, _locked: file }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::try_take(path.clone()).unwrap();
        assert!(first.is_some());
        assert!(Lock::try_take(path.clone()).unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        assert!(Lock::try_take(path).unwrap().is_some());
        let missing = folder.path().join("missing").join("lock");
        assert!(matches!(Lock::try_take(missing), Err(StageError::Io { .. })));
    }

    #[test]
    fn what_a_link_leads_to_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("precious"), "precious").unwrap();
        symlink(at("precious"), at("lock")).unwrap();
        assert!(matches!(Lock::try_take(at("lock")), Err(StageError::Io { .. })));
        assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");
        // The content of an existing lock file stays while it is locked.
        drop(Lock::try_take(at("precious")).unwrap().unwrap());
        assert!(!at("precious").exists());
    }
}
