//! The place of a run has one writer at a time.
//!
//! A [`Place`] is locked before anything of the run is written, and until it is committed, so two processes never write
//! into one hidden folder, whatever their inputs, options and commands. The lock lies beside the hidden folder:
//!
//! ```text
//! LAKE/.heaplake-new/release=R/snapshot=N         tables in the making
//!                              .snapshot=N.lock   held by the one that makes them
//!                              .snapshot=N.old    the run before, where folders cannot be exchanged in one step
//! ```
//!
//! Who takes a place finds there what a killed process left, and puts it right: a run that had stepped aside comes
//! back, all else goes. [`sweep`] does so for all places of a lake that nobody holds.

use crate::lock::Lock;
use crate::{remote, run_files};
use heaplake_kit::{StageError, fs, storage};
use heaplake_schemas::run;
use std::collections::BTreeSet;
use std::fs::{Metadata, canonicalize, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Folder inside a lake that holds runs in the making.
pub const NEW: &str = ".heaplake-new";

/// How often, and how long after each other, a place is tried that another process holds: it may only look whether there is
/// something to put right.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Path of a run inside a lake.
#[must_use]
pub fn path(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    lake.join(format!("release={release}")).join(format!("snapshot={snapshot}"))
}

/// The parts of the path of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The lake.
    pub lake: PathBuf,
    /// Its release.
    pub release: String,
    /// Its name.
    pub snapshot: String,
}

/// The parts of the path of a run; `None` if it is no such path.
#[must_use]
pub fn parts(place: &Path) -> Option<Parts> {
    let named = |path: &Path, prefix: &str| Some(path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned());
    let release = place.parent()?;
    let lake = release.parent().filter(|lake| !lake.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(Parts { release: named(release, "release=")?, snapshot: named(place, "snapshot=")?, lake: lake.to_owned() })
}

/// What stands in a place: device and inode of the folder, and of its `run.json` the inode, length and time of change. In a
/// store: a number for the attempt that made the run, and the tag of its `run.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    folder: (u64, u64),
    run: Option<(u64, u64, i64, i64)>,
    tag: Option<String>,
}

impl Standing {
    /// What stands there; nothing where there is nothing.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn at(place: &Path) -> Result<Option<Self>, StageError> {
        if storage::is_url(place) {
            let of =
                |there: remote::Standing| Self { folder: (u64::MAX, there.attempt), run: None, tag: Some(there.tag) };
            return Ok(remote::standing(place)?.map(of));
        }
        let examined = |path: &Path| match symlink_metadata(path) {
            Ok(there) => Ok(Some(there)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(StageError::io(path, "examine", error)),
        };
        let Some(folder) = examined(place)? else { return Ok(None) };
        let run = examined(&place.join(run::FILE))?;
        let of_run = |run: Metadata| (run.ino(), run.len(), run.mtime(), run.mtime_nsec());
        Ok(Some(Self { folder: (folder.dev(), folder.ino()), run: run.map(of_run), tag: None }))
    }

    /// The tag of `run.json`, in a store.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Device and inode of the folder.
    #[must_use]
    pub fn folder(&self) -> (u64, u64) {
        self.folder
    }
}

/// The place of a run, held by this process.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    hidden: PathBuf,
    standing: Option<Standing>,
    /// Gone before the folder around it is removed.
    lock: Option<Lock>,
}

impl Place {
    /// Takes the place of a run in a lake, and puts right what a killed process left there.
    ///
    /// # Errors
    /// [`StageError::Refused`] when another process holds it; [`StageError::Io`].
    pub fn take(lake: &Path, release: &str, snapshot: &str) -> Result<Self, StageError> {
        Self::take_if_free(lake, release, snapshot)?.ok_or_else(|| StageError::Refused {
            problem: format!("{}: another heaplake is making this run", path(lake, release, snapshot).display()),
            advice: "wait until it is done".to_owned(),
        })
    }

    /// The same; returns `None` if another process holds it for longer than a [`sweep`] does.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn take_if_free(lake: &Path, release: &str, snapshot: &str) -> Result<Option<Self>, StageError> {
        for _ in 0..TRIES {
            if let Some(place) = Self::try_take(lake, release, snapshot)? {
                return Ok(Some(place));
            }
            thread::sleep(PAUSE);
        }
        Self::try_take(lake, release, snapshot)
    }

    /// The same, at once.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn try_take(lake: &Path, release: &str, snapshot: &str) -> Result<Option<Self>, StageError> {
        let place = path(lake, release, snapshot);
        if storage::is_url(&place) {
            // Nobody holds a place of a store: what stands there decides at the commit.
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

    /// The same, whose run is made in a folder that the caller has for itself, if it goes to a store.
    #[must_use]
    pub fn made_in(mut self, folder: &Path) -> Self {
        if self.is_remote() {
            folder.clone_into(&mut self.hidden);
        }
        self
    }

    /// Whether it is in a store.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        storage::is_url(&self.path)
    }

    /// Path of the run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the run is made.
    #[must_use]
    pub fn hidden(&self) -> &Path {
        &self.hidden
    }

    /// Where a run goes that another one replaces, where the two cannot be exchanged.
    pub(crate) fn aside(&self) -> PathBuf {
        beside(&self.hidden, "old")
    }

    /// What stood in the place when it was taken.
    #[must_use]
    pub fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    /// Refuses a place that a new run may not take, since something stands there that is not heaplake's.
    ///
    /// # Errors
    /// [`StageError::Unusable`], [`StageError::Io`].
    pub fn refuse_replaced(&self) -> Result<(), StageError> {
        if self.is_remote() { Ok(()) } else { run_files::refuse_replaced(&self.path) }
    }

    /// Refuses a place with files of the user, which would go with the run.
    ///
    /// # Errors
    /// [`StageError::Unusable`], [`StageError::Io`].
    pub fn refuse_others(&self) -> Result<(), StageError> {
        if self.is_remote() { Ok(()) } else { run_files::refuse_others(&self.path) }
    }

    /// Removes the run that stands there, and the folder of its release if that was its last run. The run vanishes in
    /// one step: its folder is renamed to the hidden one, where the next one that takes the place removes whatever is
    /// left of it.
    ///
    /// # Errors
    /// [`StageError::Unusable`] where its folder has files of the user: nothing is removed then. [`StageError::Io`].
    pub fn discard(self) -> Result<(), StageError> {
        if self.is_remote() {
            return remote::discard(&self.path);
        }
        self.refuse_others()?;
        let (path, hidden) = (&self.path, &self.hidden);
        in_new_folder(hidden, || fs::rename(path, hidden)).map_err(|error| StageError::io(path, "rename", error))?;
        // Else the loss of power might bring back a run of which some files are gone.
        for folder in [hidden, path].into_iter().filter_map(|moved| moved.parent()) {
            fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))?;
        }
        let removed = remove(hidden);
        let _ = path.parent().map(fs::remove_dir);
        removed
    }

    /// Removes what was written in vain; a run that stepped aside comes back.
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
        // A folder that cannot be removed is hidden and is not a run; the next one that takes the place removes it.
        let _ = remove(&self.hidden);
        self.lock = None;
        if !self.is_remote() {
            tidy(&self.hidden);
        }
    }
}

/// The lock of a place, if no other process has it.
fn locked(hidden: &Path) -> Result<Option<Lock>, StageError> {
    let folder = hidden.parent().unwrap_or(hidden);
    let mut tries = 0;
    loop {
        let made = fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error));
        match made.and_then(|()| Lock::try_take(beside(hidden, "lock"))) {
            // Another process removed the folder, or the one around it, while it was empty.
            Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && tries < 100 => tries += 1,
            other => return other,
        }
    }
}

/// Removes the folders around a hidden folder, unless other runs are in the making.
fn tidy(hidden: &Path) {
    for folder in hidden.ancestors().skip(1).take(2) {
        let _ = fs::remove_dir(folder);
    }
}

/// Puts right what killed processes left in the places of a lake. What cannot be put right, or belongs to a process at
/// work, stays.
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

/// The name of the run to which an entry of the hidden folder belongs.
fn snapshot_of(entry: &str) -> Option<&str> {
    let hidden = |entry: &'_ str| entry.strip_prefix('.').and_then(|entry| entry.strip_prefix("snapshot=")).is_some();
    if hidden(entry) {
        let entry = entry.strip_prefix(".snapshot=")?;
        entry.strip_suffix(".lock").or_else(|| entry.strip_suffix(".old"))
    } else {
        entry.strip_prefix("snapshot=")
    }
}

/// The hidden folder of a run. Where the folder of the release is a link, it lies beside what the link leads to: the
/// same run has one lock, whatever it is called.
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

/// Does something whose target is at a path, in whose folder, which is created if needed. Another process may remove
/// the folder while it is empty: then both are tried again.
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

/// Removes a folder, which need not exist.
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
        // Somebody is at work.
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
        // Killed after the run was renamed: the next one clears what is left.
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
