//! Hidden folders for temporary files.
//!
//! The name cannot be guessed, only the owner can access it, and the process that uses it locks it: so later processes
//! recognize and remove leftovers of killed ones. The name ends with a checksum of itself, so that no folder of a user
//! is mistaken for a leftover.

use heaplake_kit::{StageError, fs};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::fs::{DirBuilder, Metadata, symlink_metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Digits of the random part of a name, and of its checksum.
const DIGITS: usize = 16;

/// A hidden folder, removed on drop.
#[derive(Debug)]
pub struct Hidden {
    path: PathBuf,
    _locked: Option<OwnedFd>,
}

impl Hidden {
    /// Creates a hidden folder inside `folder` with a name prefix.
    pub fn create(folder: &Path, prefix: &str) -> Result<Self, StageError> {
        sweep(folder, prefix);
        let failed = |error: io::Error| StageError::io(folder, "create a folder in", error);
        loop {
            fs::before_folder(folder).map_err(failed)?;
            let path = folder.join(name(prefix, RandomState::new().build_hasher().finish()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(failed)?,
            }
            match locked(&path) {
                Ok(Some(locked)) => return Ok(Self { path, _locked: Some(locked) }),
                // Another process removed it as a leftover before it was locked.
                Ok(None) => {}
                // A file system without folder locks, where nobody removes leftovers.
                Err(_) => return Ok(Self { path, _locked: None }),
            }
        }
    }

    /// Its path.
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

fn name(prefix: &str, random: u64) -> String {
    let begin = format!("{prefix}{random:016x}");
    format!("{begin}{:016x}", xxh3_64(begin.as_bytes()))
}

/// True if a name is that of a hidden folder.
pub fn is_hidden(name: &str, prefix: &str) -> bool {
    let checked = name.len().checked_sub(DIGITS).and_then(|end| name.split_at_checked(end));
    checked.is_some_and(|(begin, checksum)| {
        begin.starts_with(prefix) && format!("{:016x}", xxh3_64(begin.as_bytes())) == checksum
    })
}

/// Removes leftovers of killed processes.
pub fn sweep(folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_hidden(&entry.file_name().to_string_lossy(), prefix) {
            continue;
        }
        // Hold the lock until the folder is gone; otherwise its creator could lock and use it.
        if let Ok(Some(_locked)) = locked(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a folder; `None` if another process uses or removed it.
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
    fn folders_that_are_created_side_by_side_stay() {
        let folder = tempfile::tempdir().unwrap();
        let used = || {
            for _ in 0..300 {
                let hidden = Hidden::create(folder.path(), ".it-").unwrap();
                std::fs::write(hidden.path().join("file"), "").unwrap();
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(used))));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_nobody_uses_goes_and_what_heaplake_did_not_make_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(name(".it-", 7));
        let of_user = [".it-", ".it-backup", ".it-00000000000000070000000000000000", &name(".other-", 7)];
        let make = |folder: &Path| {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("file"), "").unwrap();
        };
        make(&left);
        of_user.iter().for_each(|name| make(&folder.path().join(name)));
        let one = Hidden::create(folder.path(), ".it-").unwrap();
        let other = Hidden::create(folder.path(), ".it-").unwrap();
        assert!(!left.exists() && one.path().exists() && other.path().exists());
        drop((one, other));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), of_user.len());
        assert!(of_user.iter().all(|name| folder.path().join(name).join("file").exists()));
    }
}
