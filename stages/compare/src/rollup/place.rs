//! The folder of a rollup: a folder for each group, and `rollup.json`, which says which of them count.

use crate::error::CompareError;
use heaplake_kit::stage::Output;
use heaplake_kit::{StageError, fs, storage};
use heaplake_lake::hidden::Hidden;
use heaplake_lake::lock::Lock;
use heaplake_schemas::rollup::{self, Rollup};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::path::{Path, PathBuf};

/// What names of hidden folders begin with.
const HIDDEN: &str = ".heaplake-new-";
/// What names of the folders of groups begin with.
const GROUP: &str = "group-";
/// Name of the lock.
const LOCK: &str = ".heaplake-lock";

/// The folder, which only this process changes.
pub struct Place {
    folder: PathBuf,
    hidden: Hidden,
    _lock: Lock,
}

impl Place {
    /// Locks the folder, which is made if needed.
    ///
    /// # Errors
    /// [`CompareError`] where it cannot be made, or another process works there.
    pub fn open(folder: &Path) -> Result<Self, CompareError> {
        fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
        let Some(lock) = Lock::try_take(folder.join(LOCK))? else {
            let cause = format!("{}: another process makes this rollup", folder.display());
            return Err(CompareError::refused(cause, "wait until it has ended, or name another folder with --out"));
        };
        Ok(Self { folder: folder.to_owned(), hidden: Hidden::create(folder, HIDDEN)?, _lock: lock })
    }

    /// The rollup of last time, if it is one of the same kind; else one without groups.
    #[must_use]
    pub fn earlier(&self, by: &[String]) -> Rollup {
        let read = std::fs::read(self.folder.join(rollup::FILE)).ok();
        let earlier: Option<Rollup> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let same = |rollup: &Rollup| {
            (&*rollup.heaplake_version, rollup.schema_version, &*rollup.by) == (HEAPLAKE_VERSION, SCHEMA_VERSION, by)
        };
        let mut earlier = earlier.filter(same).unwrap_or_default();
        // What is no longer as it was written is made anew.
        earlier.groups.retain(|group| {
            let folder = self.committed(&group.folder);
            let whole = |table: &heaplake_schemas::run::Table| {
                std::fs::metadata(folder.join(&table.file)).is_ok_and(|file| file.len() == table.bytes)
            };
            group.folder.starts_with(GROUP) && !group.folder.contains('/') && group.tables.iter().all(whole)
        });
        earlier
    }

    /// Where the lake is, from here if this folder is inside it.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn path_of(&self, lake: &Path) -> Result<String, StageError> {
        if storage::is_url(lake) {
            return Ok(lake.display().to_string());
        }
        let whole = |path: &Path| path.canonicalize().map_err(|error| StageError::io(path, "read", error));
        let (lake, folder) = (whole(lake)?, whole(&self.folder)?);
        Ok(match folder.strip_prefix(&lake) {
            Ok(inside) => vec![".."; inside.components().count()].join("/"),
            Err(_) => lake.display().to_string(),
        })
    }

    /// The folder of a group of last time.
    #[must_use]
    pub fn committed(&self, group: &str) -> PathBuf {
        self.folder.join(group)
    }

    /// The folder of a group, before or after the commit.
    #[must_use]
    pub fn of_group(&self, group: &str) -> PathBuf {
        let new = self.hidden.path().join(group);
        if new.exists() { new } else { self.committed(group) }
    }

    /// Makes the folder of a group.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create_group(&self, group: &str) -> Result<Output, StageError> {
        let folder = self.hidden.path().join(group);
        fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
        Ok(Output { folder, ..Output::default() })
    }

    /// Moves the new folders to their place, then the description, and removes what it does not name.
    ///
    /// # Errors
    /// [`StageError::Io`]. The rollup of last time is then still there.
    pub fn commit(self, rollup: &Rollup) -> Result<(), StageError> {
        let io = |path: &Path, action| {
            let path = path.to_owned();
            move |error| StageError::io(&path, action, error)
        };
        let written = self.hidden.path().join(rollup::FILE);
        let text = serde_json::to_vec_pretty(rollup).map_err(|error| io(&written, "write")(error.into()))?;
        fs::write(&written, text).map_err(io(&written, "write"))?;
        fs::sync(&written).map_err(io(&written, "write"))?;
        for group in folders(self.hidden.path()) {
            let (new, place) = (self.hidden.path().join(&group), self.committed(&group));
            if place.exists() {
                // Left by a process that was killed before it wrote the description, or damaged.
                fs::remove_dir_all(&place).map_err(io(&place, "remove"))?;
            }
            fs::sync(&new).map_err(io(&new, "write"))?;
            fs::rename(&new, &place).map_err(io(&place, "write"))?;
        }
        fs::sync(&self.folder).map_err(io(&self.folder, "write"))?;
        let description = self.folder.join(rollup::FILE);
        fs::rename(&written, &description).map_err(io(&description, "write"))?;
        fs::sync(&self.folder).map_err(io(&self.folder, "write"))?;
        for group in folders(&self.folder) {
            if !rollup.groups.iter().any(|counts| counts.folder == group) {
                // What cannot be removed goes next time.
                let _ = fs::remove_dir_all(self.folder.join(group));
            }
        }
        Ok(())
    }
}

/// Names of the folders of groups in a folder.
fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(GROUP)).collect();
    names.sort();
    names
}
