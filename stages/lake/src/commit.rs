//! The folder of a run: written beside its final place, then moved there in one step.
//!
//! Tables are written to the folder `.heaplake-new` of the lake. [`NewRun::commit`] writes `run.json` last, syncs
//! everything to disk and renames the folder; an existing run is exchanged in one step and then removed. A crash at
//! any moment leaves the old run, the new run, or no run, never a partial one.
//!
//! Patterns of polars, DuckDB and Spark match hidden folders too, so a folder in the making must not lie where
//! `LAKE/*/*/classes.parquet` looks: it is one level deeper than runs are.

use heaplake_kit::StageError;
use heaplake_schemas::run::{self, Run};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Folder inside a lake that holds runs in the making.
const NEW: &str = ".heaplake-new";

/// Path of a run inside a lake.
#[must_use]
pub fn place(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    lake.join(format!("release={release}")).join(format!("snapshot={snapshot}"))
}

/// Reads the description of a run; returns `None` if there is no run.
///
/// # Errors
/// [`StageError::Io`], or [`StageError::Table`] when `run.json` is damaged.
pub fn read(place: &Path) -> Result<Option<Run>, StageError> {
    let path = place.join(run::FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(StageError::io(&path, "read", error)),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| StageError::Table { path, problem: format!("{} is not that of a run: {error}", run::FILE) })
}

/// A run that is being written. Removed if dropped before its commit.
#[derive(Debug)]
pub struct NewRun {
    folder: PathBuf,
    place: PathBuf,
    committed: bool,
}

impl NewRun {
    /// Creates the hidden folder for the [`place`] of a run in a lake; removes what an earlier attempt left.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(lake: &Path, release: &str, snapshot: &str) -> Result<Self, StageError> {
        let folder = self::place(&lake.join(NEW), release, snapshot);
        remove(&folder)?;
        // Constructed first: if a folder cannot be created, the drop removes the parents that were.
        let new = Self { folder, place: self::place(lake, release, snapshot), committed: false };
        create_all(&new.folder)?;
        Ok(new)
    }

    /// The folder for the tables.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the run to its place.
    ///
    /// # Errors
    /// [`StageError::Io`]; the existing run is then unchanged.
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
            // The exchange is atomic; if the file system does not support it, the old run is renamed first.
            match renameat_with(CWD, &self.folder, CWD, &self.place, RenameFlags::EXCHANGE) {
                // The new run is committed; an old one that cannot be removed is hidden and only takes disk space.
                Ok(()) => drop(remove(&self.folder)),
                Err(_) => {
                    let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
                    let aside = self.folder.with_file_name(format!(".{name}.old"));
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
            let parent = self.place.parent().unwrap_or(&self.place);
            in_new_folder(parent, || fs::rename(&self.folder, &self.place)).map_err(io_at(&self.folder, "rename"))?;
        }
        self.committed = true;
        self.tidy();
        // Sync the directory entries of the run and of its parent.
        self.place.ancestors().skip(1).take(2).try_for_each(sync)
    }
}

impl NewRun {
    /// Removes the folders around the hidden folder, unless other runs are in the making.
    fn tidy(&self) {
        for folder in self.folder.ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        if !self.committed {
            // A folder that cannot be removed is hidden and is not a run.
            let _ = remove(&self.folder);
            // Remove a parent folder that was created for this run, unless it has other content.
            let _ = self.place.parent().map(fs::remove_dir);
            self.tidy();
        }
    }
}

fn sync(path: &Path) -> Result<(), StageError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| StageError::io(path, "write", error))
}

/// Creates a folder and those above it.
fn create_all(folder: &Path) -> Result<(), StageError> {
    in_new_folder(folder, || Ok(())).map_err(|error| StageError::io(folder, "create", error))
}

/// Does something in a folder, which is created if needed. Another process may remove the folder, or one above it,
/// while it is empty: then both are tried again.
fn in_new_folder(folder: &Path, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::create_dir_all(folder).and_then(|()| work()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 100 => tries += 1,
            result => return result,
        }
    }
}

fn remove(folder: &Path) -> Result<(), StageError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StageError::io(folder, "remove", error)),
        _ => Ok(()),
    }
}
