//! A lock that one process holds at a time.
//!
//! The lock is on a file, and the system releases it when its holder ends, however that happens. The file is removed
//! when the lock is dropped.

use heaplake_kit::StageError;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A locked file, released and removed when dropped.
pub struct Lock {
    path: PathBuf,
    _locked: File,
}

impl Lock {
    /// Locks the file at `path` and creates it if needed; returns `None` if another process holds the lock.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn try_take(path: PathBuf) -> Result<Option<Self>, StageError> {
        loop {
            let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(StageError::io(&path, "lock", error)),
            }
            // The last holder may have removed the file between the two steps; then another process may lock a new
            // one.
            let same = |other: fs::Metadata| {
                file.metadata().is_ok_and(|mine| (mine.dev(), mine.ino()) == (other.dev(), other.ino()))
            };
            if fs::metadata(&path).is_ok_and(same) {
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
}
