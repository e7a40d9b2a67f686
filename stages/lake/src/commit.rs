//! A run's folder: written beside its place, and put there in one step.
//!
//! Tables go to a hidden folder next to the run's place. [`NewRun::commit`] writes `run.json` last, brings everything
//! to disk and renames the folder; where a run stands already, the two are exchanged in one step and the old one is
//! removed. A crash at any moment leaves the old run, or the new one, or none, never a half.

use heaplake_kit::StageError;
use heaplake_schemas::run::{self, Run};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where a run stands inside a lake.
#[must_use]
pub fn place(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    lake.join(format!("release={release}")).join(format!("snapshot={snapshot}"))
}

/// Reads what a run is; nothing where no run stands.
///
/// # Errors
/// [`StageError::Io`], or [`StageError::Scratch`] when `run.json` is damaged.
pub fn read(place: &Path) -> Result<Option<Run>, StageError> {
    let path = place.join(run::FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(StageError::io(&path, "read", error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| StageError::Scratch { path, problem: error.to_string() })
}

/// A run that is being written. Removed when dropped before its commit.
#[derive(Debug)]
pub struct NewRun {
    folder: PathBuf,
    place: PathBuf,
    committed: bool,
}

impl NewRun {
    /// Makes the hidden folder for a run at `place`; what an earlier attempt left there is removed.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(place: &Path) -> Result<Self, StageError> {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let folder = place.with_file_name(format!(".{name}.new"));
        remove(&folder)?;
        // Before the folder is made: what of it and of those above could be made must go again when the rest could not.
        let new = Self { folder, place: place.to_owned(), committed: false };
        fs::create_dir_all(&new.folder).map_err(|error| StageError::io(&new.folder, "create", error))?;
        Ok(new)
    }

    /// Where the tables go.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the run in its place.
    ///
    /// # Errors
    /// [`StageError::Io`]; then no run has changed.
    pub fn commit(mut self, run: &Run) -> Result<(), StageError> {
        let path = self.folder.join(run::FILE);
        let io_at = |path: &Path, action: &'static str| {
            let path = path.to_owned();
            move |error: io::Error| StageError::io(&path, action, error)
        };
        let text = serde_json::to_vec_pretty(run)
            .map_err(|error| StageError::Scratch { path: path.clone(), problem: error.to_string() })?;
        fs::write(&path, text).map_err(io_at(&path, "write"))?;
        sync(&path)?;
        sync(&self.folder)?;
        if self.place.exists() {
            // Exchanging is one step; where a file system cannot, the old run steps aside first.
            match renameat_with(CWD, &self.folder, CWD, &self.place, RenameFlags::EXCHANGE) {
                // From here on the run stands; an old one that cannot be removed is hidden, and only space.
                Ok(()) => drop(remove(&self.folder)),
                Err(_) => {
                    let aside = self.folder.with_extension("old");
                    remove(&aside)?;
                    fs::rename(&self.place, &aside).map_err(io_at(&self.place, "rename"))?;
                    if let Err(error) = fs::rename(&self.folder, &self.place) {
                        fs::rename(&aside, &self.place).map_err(io_at(&aside, "rename"))?;
                        return Err(StageError::io(&self.folder, "rename", error));
                    }
                    drop(remove(&aside));
                }
            }
        } else {
            fs::rename(&self.folder, &self.place).map_err(io_at(&self.folder, "rename"))?;
        }
        self.committed = true;
        // The names of the run and of its release.
        self.place.ancestors().skip(1).take(2).try_for_each(sync)
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing more can be done about a folder that cannot be removed; it is hidden and no run.
            let _ = remove(&self.folder);
            // A release folder that was made for this run goes too, if nothing else is in it.
            let _ = self.place.parent().map(fs::remove_dir);
        }
    }
}

fn sync(path: &Path) -> Result<(), StageError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| StageError::io(path, "write", error))
}

fn remove(folder: &Path) -> Result<(), StageError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StageError::io(folder, "remove", error)),
        _ => Ok(()),
    }
}
