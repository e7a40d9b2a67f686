//! Mutual exclusion of the writers of a run.
//!
//! A [`Place`] is locked before anything of the run is written, until the commit, so two processes never write into one
//! hidden folder, regardless of inputs, options and commands. The lock lies beside the hidden folder:
//!
//! ```text
//! LAKE/.heaplake-new/release=R/snapshot=N         unfinished tables
//!                              .snapshot=N.lock   held by their writer
//!                              .snapshot=N.old    the old run, where folders cannot be exchanged atomically
//! ```
//!
//! Taking a place recovers from a killed process: an old run that was moved aside is restored, all else is removed.
//! [`sweep`] does so for all free places of a lake.

use crate::lock::Lock;
use crate::{remote, run_files};
use heaplake_kit::{StageError, fs, storage};
use std::collections::BTreeSet;
use std::fs::{Metadata, canonicalize, symlink_metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

pub use crate::run_path::{Parts, parts, path};
pub use crate::standing::Standing;

/// Folder of unfinished runs in a lake.
pub const NEW: &str = ".heaplake-new";

/// Attempts to take a place, and the pause between them: its holder may be a mere [`sweep`].
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// The place of a run, held by this process.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    hidden: PathBuf,
    standing: Option<Standing>,
    /// Released before the enclosing folder is removed.
    lock: Option<Lock>,
}

impl Place {
    /// Takes the place of a run in a lake, and recovers from a killed process.
    ///
    /// # Errors
    /// [`StageError::Refused`] when another process holds it.
    pub fn take(lake: &Path, release: &str, snapshot: &str) -> Result<Self, StageError> {
        Self::take_if_free(lake, release, snapshot)?.ok_or_else(|| StageError::Refused {
            problem: format!("{}: another heaplake is making this run", path(lake, release, snapshot).display()),
            advice: "wait until it is done".to_owned(),
        })
    }

    /// As [`Self::take`]; `None` if another process holds it for longer than a [`sweep`].
    pub fn take_if_free(lake: &Path, release: &str, snapshot: &str) -> Result<Option<Self>, StageError> {
        for _ in 0..TRIES {
            if let Some(place) = Self::try_take(lake, release, snapshot)? {
                return Ok(Some(place));
            }
            thread::sleep(PAUSE);
        }
        Self::try_take(lake, release, snapshot)
    }

    /// As [`Self::take_if_free`], without waiting.
    pub fn try_take(lake: &Path, release: &str, snapshot: &str) -> Result<Option<Self>, StageError> {
        let place = path(lake, release, snapshot);
        if storage::is_url(&place) {
            // Places in a store are not locked: the conditional put of the commit decides.
            let standing = Standing::at(&place)?;
            return Ok(Some(Self { path: place, hidden: PathBuf::new(), standing, lock: None }));
        }
        let hidden = hidden(lake, release, snapshot);
        let lock = match locked(&hidden) {
            Ok(Some(lock)) => lock,
            other => {
                tidy(&hidden);
                return other.map(|_| None);
            }
        };
        let mut place = Self { path: path(lake, release, snapshot), hidden, standing: None, lock: Some(lock) };
        place.put_right()?;
        place.standing = Standing::at(&place.path)?;
        Ok(Some(place))
    }

    /// Sets the folder in which the run is made before its upload; no effect on local places.
    #[must_use]
    pub fn made_in(mut self, folder: &Path) -> Self {
        if self.is_remote() {
            folder.clone_into(&mut self.hidden);
        }
        self
    }

    /// True for a place in a store.
    pub fn is_remote(&self) -> bool {
        storage::is_url(&self.path)
    }

    /// Path of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in which the run is made.
    pub fn hidden(&self) -> &Path {
        &self.hidden
    }

    /// Path to which the old run is moved where folders cannot be exchanged.
    pub(crate) fn aside(&self) -> PathBuf {
        beside(&self.hidden, "old")
    }

    /// Identity of the run at the place when it was taken.
    pub fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    /// Refuses a place with content other than a run.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if there is such content.
    pub fn refuse_replaced(&self) -> Result<(), StageError> {
        if self.is_remote() { Ok(()) } else { run_files::refuse_replaced(&self.path) }
    }

    /// Refuses a place with files of the user, which would be removed with the run.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if there are such files.
    pub fn refuse_others(&self) -> Result<(), StageError> {
        if self.is_remote() { Ok(()) } else { run_files::refuse_others(&self.path) }
    }

    /// Removes the run, and the folder of its release if it was the last run. Atomic: the folder is renamed to the
    /// hidden one, where the next holder of the place removes leftovers.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if the folder has files of the user; then nothing is removed.
    pub fn discard(self) -> Result<(), StageError> {
        if self.is_remote() {
            return remote::discard(&self.path);
        }
        self.refuse_others()?;
        let (path, hidden) = (&self.path, &self.hidden);
        in_new_folder(hidden, || fs::rename(path, hidden)).map_err(|error| StageError::io(path, "rename", error))?;
        // Otherwise a power failure might restore a run without some of its files.
        for folder in [hidden, path].into_iter().filter_map(|moved| moved.parent()) {
            fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))?;
        }
        let removed = remove(hidden);
        let _ = path.parent().map(fs::remove_dir);
        removed
    }

    /// Removes unfinished tables; restores an old run that was moved aside.
    fn put_right(&self) -> Result<(), StageError> {
        let aside = self.aside();
        if symlink_metadata(&aside).is_ok() {
            if symlink_metadata(&self.path).is_ok() {
                remove(&aside)?;
            } else {
                in_new_folder(&self.path, || fs::rename(&aside, &self.path))
                    .map_err(|error| StageError::io(&aside, "rename", error))?;
            }
        }
        remove(&self.hidden)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A folder that cannot be removed is hidden and is not a run; the next holder of the place removes it.
        let _ = remove(&self.hidden);
        self.lock = None;
        if !self.is_remote() {
            tidy(&self.hidden);
        }
    }
}

/// Locks a place, unless another process has it.
fn locked(hidden: &Path) -> Result<Option<Lock>, StageError> {
    let folder = hidden.parent().unwrap_or(hidden);
    let mut tries = 0;
    loop {
        let made = fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error));
        match made.and_then(|()| Lock::try_take(beside(hidden, "lock"))) {
            // Another process removed the empty folder or its parent.
            Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && tries < 100 => tries += 1,
            other => return other,
        }
    }
}

/// Removes the folders around a hidden folder, if empty.
fn tidy(hidden: &Path) {
    for folder in hidden.ancestors().skip(1).take(2) {
        let _ = fs::remove_dir(folder);
    }
}

/// Recovers all free places of a lake from killed processes. Failures are ignored; places in use stay.
pub fn sweep(lake: &Path) {
    if storage::is_url(lake) {
        return remote::sweep(lake);
    }
    let folders = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for release in folders(&lake.join(NEW)) {
        let name = release.file_name().to_string_lossy().into_owned();
        let Some(release_name) = name.strip_prefix("release=") else { continue };
        let names: Vec<String> =
            folders(&release.path()).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let snapshots: BTreeSet<&str> = names.iter().filter_map(|name| snapshot_of(name)).collect();
        for snapshot in snapshots {
            drop(Place::try_take(lake, release_name, snapshot));
        }
        let _ = fs::remove_dir(release.path());
        // Its last run was dropped.
        let _ = fs::remove_dir(lake.join(&name));
    }
    let _ = fs::remove_dir(lake.join(NEW));
}

/// Returns the run to which an entry of the hidden folder belongs.
fn snapshot_of(entry: &str) -> Option<&str> {
    let hidden = |entry: &'_ str| entry.strip_prefix('.').and_then(|entry| entry.strip_prefix("snapshot=")).is_some();
    if hidden(entry) {
        let entry = entry.strip_prefix(".snapshot=")?;
        entry.strip_suffix(".lock").or_else(|| entry.strip_suffix(".old"))
    } else {
        entry.strip_prefix("snapshot=")
    }
}

/// Returns the hidden folder of a run. If the release is a link, it lies beside the link's target, so the same run has
/// one lock under any name.
fn hidden(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    let folder = lake.join(format!("release={release}"));
    let real = symlink_metadata(&folder).ok().filter(Metadata::is_symlink).and_then(|_| canonicalize(&folder).ok());
    let real = real.as_ref().and_then(|real| Some(real.parent()?.join(NEW).join(real.file_name()?)));
    real.unwrap_or_else(|| lake.join(NEW).join(format!("release={release}"))).join(format!("snapshot={snapshot}"))
}

fn beside(hidden: &Path, ending: &str) -> PathBuf {
    let name = hidden.file_name().unwrap_or_default().to_string_lossy();
    hidden.with_file_name(format!(".{name}.{ending}"))
}

/// Creates the folder of `path` and calls `work`, again if another process removed the empty folder meanwhile.
pub(crate) fn in_new_folder(path: &Path, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut tries = 0;
    loop {
        match fs::create_dir_all(folder).and_then(|()| work()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 100 => tries += 1,
            result => return result,
        }
    }
}

/// Removes a folder, if it exists.
pub(crate) fn remove(folder: &Path) -> Result<(), StageError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StageError::io(folder, "remove", error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, read, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_place_has_one_writer_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let (lake, link) = (folder.path().join("lake"), folder.path().join("link"));
        create_dir_all(lake.join("release=r")).unwrap();
        symlink(&lake, &link).unwrap();
        symlink("release=r", lake.join("release=s")).unwrap();
        let held = Place::take(&lake, "r", "n").unwrap();
        for (lake, release) in [(&lake, "r"), (&link, "r"), (&lake, "s")] {
            assert!(matches!(Place::take(lake, release, "n"), Err(StageError::Refused { .. })), "{release}");
        }
        drop(Place::take(&lake, "r", "other").unwrap());
        drop(held);
        assert!(!lake.join(NEW).exists());
        drop(Place::take(&lake, "s", "n").unwrap());
    }

    #[test]
    fn what_a_killed_process_left_is_put_right() {
        let folder = tempfile::tempdir().unwrap();
        let lake = folder.path();
        let hidden = lake.join(NEW).join("release=r");
        let make = |folder: &Path| {
            create_dir_all(folder).unwrap();
            write(folder.join("run.json"), "old").unwrap();
        };
        // Killed between the two renames; after them; while tables were written.
        make(&hidden.join(".snapshot=a.old"));
        make(&hidden.join("snapshot=a"));
        make(&hidden.join(".snapshot=b.old"));
        make(&path(lake, "r", "b"));
        make(&hidden.join("snapshot=c.lock"));
        write(hidden.join(".snapshot=c.lock"), "").unwrap();
        // A process at work.
        let held = Place::take(lake, "r", "d").unwrap();
        make(held.hidden());
        sweep(lake);
        assert_eq!(read(path(lake, "r", "a").join("run.json")).unwrap(), b"old");
        assert!(held.hidden().join("run.json").exists());
        let left = std::fs::read_dir(&hidden).unwrap().count();
        assert_eq!(left, 2, "the folder and the lock of the one at work");
        drop(held);
        assert!(!lake.join(NEW).exists());
    }

    #[test]
    fn a_discarded_run_goes_with_its_release_and_leaves_others() {
        let folder = tempfile::tempdir().unwrap();
        let lake = folder.path();
        for snapshot in ["a", "b"] {
            create_dir_all(path(lake, "r", snapshot)).unwrap();
            write(path(lake, "r", snapshot).join("run.json"), snapshot).unwrap();
        }
        Place::take(lake, "r", "a").unwrap().discard().unwrap();
        assert!(!path(lake, "r", "a").exists() && path(lake, "r", "b").join("run.json").exists());
        Place::take(lake, "r", "b").unwrap().discard().unwrap();
        assert_eq!(std::fs::read_dir(lake).unwrap().count(), 0);
        // Killed after the run was renamed: the next holder removes leftovers.
        create_dir_all(lake.join("release=r")).unwrap();
        create_dir_all(lake.join(NEW).join("release=r/snapshot=b")).unwrap();
        write(lake.join(NEW).join("release=r/.snapshot=b.lock"), "").unwrap();
        sweep(lake);
        assert_eq!(std::fs::read_dir(lake).unwrap().count(), 0);
    }

    #[test]
    fn a_path_of_a_run_has_parts() {
        let parts_of = |place: &str| parts(Path::new(place)).map(|parts| (parts.lake, parts.release, parts.snapshot));
        let some = |lake: &str| Some((lake.into(), "r".to_owned(), "n".to_owned()));
        assert_eq!(parts_of("lake/release=r/snapshot=n"), some("lake"));
        assert_eq!(parts_of("release=r/snapshot=n/"), some("."));
        for other in ["snapshot=n", "lake/snapshot=n", "lake/release=r", "lake/x/snapshot=n", "./snapshot=n", ""] {
            assert_eq!(parts_of(other), None, "{other}");
        }
    }
}
