//! The folder of a rollup: one folder per group, and `rollup.json`, which lists the live groups.
//!
//! Other files stay: only groups that one of heaplake's `rollup.json` names are removed or replaced, and within their
//! folders only tables.

use crate::error::CompareError;
use heaplake_kit::stage::Output;
use heaplake_kit::{StageError, fs, storage};
use heaplake_lake::hidden::Hidden;
use heaplake_lake::lock::Lock;
use heaplake_lake::manifest::Manifest;
use heaplake_schemas::rollup::{self, Rollup};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::collections::BTreeSet;
use std::fs::{Metadata, symlink_metadata};
use std::path::{Path, PathBuf};

/// Prefix of hidden folders.
const HIDDEN: &str = ".heaplake-new-";
/// Prefix of group folders; sixteen hex digits follow.
const GROUP: &str = "group-";
/// Lock file.
const LOCK: &str = ".heaplake-lock";

/// The folder, locked by this process.
pub(super) struct Place {
    folder: PathBuf,
    hidden: Hidden,
    _lock: Lock,
}

impl Place {
    /// Creates the folder if needed, and locks it.
    ///
    /// # Errors
    /// [`CompareError`] also if another process works there, or its `rollup.json` is not heaplake's.
    pub(super) fn open(folder: &Path) -> Result<Self, CompareError> {
        Manifest::read(folder, rollup::FILE, is_group)?;
        fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
        let Some(lock) = Lock::try_take(folder.join(LOCK))? else {
            let cause = format!("{}: another process makes this rollup", folder.display());
            return Err(CompareError::refused(cause, "wait until it has ended, or name another folder with --out"));
        };
        Ok(Self { folder: folder.to_owned(), hidden: Hidden::create(folder, HIDDEN)?, _lock: lock })
    }

    /// The earlier rollup if it has the same version and keys, else an empty one.
    pub(super) fn earlier(&self, by: &[String]) -> Rollup {
        let read = fs::read_at_most(self.folder.join(rollup::FILE), fs::LIST_BYTES).ok();
        let earlier: Option<Rollup> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let same = |rollup: &Rollup| {
            (&*rollup.heaplake_version, rollup.schema_version, &*rollup.by) == (HEAPLAKE_VERSION, SCHEMA_VERSION, by)
        };
        let mut earlier = earlier.filter(same).unwrap_or_default();
        // Groups with changed files are computed again.
        earlier.groups.retain(|group| {
            let folder = self.committed(&group.folder);
            let whole = |table: &heaplake_schemas::run::Table| {
                is_table(&table.file)
                    && std::fs::metadata(folder.join(&table.file)).is_ok_and(|file| file.len() == table.bytes)
            };
            is_group(&group.folder) && group.tables.iter().all(whole)
        });
        earlier
    }

    /// Path of the lake, relative if this folder is inside it.
    pub(super) fn path_of(&self, lake: &Path) -> Result<String, StageError> {
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

    /// Folder of a committed group.
    pub(super) fn committed(&self, group: &str) -> PathBuf {
        self.folder.join(group)
    }

    /// Folder of a group, before or after the commit.
    pub(super) fn of_group(&self, group: &str) -> PathBuf {
        let new = self.hidden.path().join(group);
        if new.exists() { new } else { self.committed(group) }
    }

    /// Creates the folder of a group.
    pub(super) fn create_group(&self, group: &str) -> Result<Output, StageError> {
        let folder = self.hidden.path().join(group);
        fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
        Ok(Output { folder, ..Output::default() })
    }

    /// Commits: moves the new folders into place, then the description, then removes earlier groups that it does not
    /// name.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if a file that is not heaplake's is in the way of a group. The earlier rollup is then
    /// intact.
    pub(super) fn commit(self, rollup: &Rollup) -> Result<(), StageError> {
        let new: BTreeSet<String> = folders(self.hidden.path());
        let manifest = self.manifest(&new)?;
        let written = self.hidden.path().join(rollup::FILE);
        let text =
            serde_json::to_vec_pretty(rollup).map_err(|error| StageError::io(&written, "write", error.into()))?;
        fs::write(&written, text).map_err(|error| StageError::io(&written, "write", error))?;
        fs::sync(&written).map_err(|error| StageError::io(&written, "write", error))?;
        let counting = rollup.groups.iter().map(|group| group.folder.clone()).collect();
        let stale = manifest.begin(&counting, self.hidden.path())?;
        new.iter().try_for_each(|group| self.bring(group))?;
        let synced = |folder: &Path| fs::sync(folder).map_err(|error| StageError::io(folder, "write", error));
        synced(&self.folder)?;
        let description = self.folder.join(rollup::FILE);
        fs::rename(&written, &description).map_err(|error| StageError::io(&description, "write", error))?;
        synced(&self.folder)?;
        for group in stale {
            // Best effort: the description does not name the leftover.
            let _ = remove(&self.folder.join(group));
        }
        manifest.end()
    }

    /// Reads the manifest, after checking that no foreign file is in the way of the new groups.
    fn manifest(&self, new: &BTreeSet<String>) -> Result<Manifest, StageError> {
        let manifest = Manifest::read(&self.folder, rollup::FILE, is_group)?;
        manifest.refuse_others(new, Metadata::is_dir)?;
        for folder in new.iter().map(|group| self.committed(group)).filter(|folder| folder.exists()) {
            if let Some(other) = others(&folder)?.first() {
                let problem = "heaplake did not write this, and it is in the way of a group";
                return Err(StageError::unusable(other, problem, "move it away, or name another folder with --out"));
            }
        }
        Ok(manifest)
    }

    /// Moves the folder of a group into place, replacing one that is damaged or was left by a killed process.
    fn bring(&self, group: &str) -> Result<(), StageError> {
        let (new, place) = (self.hidden.path().join(group), self.committed(group));
        if place.exists() {
            remove(&place)?;
        }
        fs::sync(&new).map_err(|error| StageError::io(&new, "write", error))?;
        fs::rename(&new, &place).map_err(|error| StageError::io(&place, "write", error))
    }
}

/// Names of group folders in a folder.
fn folders(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_group(name)).collect()
}

/// Whether a name is that of a group folder.
fn is_group(name: &str) -> bool {
    name.strip_prefix(GROUP).is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// Whether a name is that of a table of a group.
fn is_table(name: &str) -> bool {
    rollup::TABLES.iter().any(|table| name == table.table.file || name == table.kept)
}

/// Files in the folder of a group that heaplake did not write.
fn others(folder: &Path) -> Result<Vec<PathBuf>, StageError> {
    let failed = |error| StageError::io(folder, "read", error);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    let of_group = |path: &PathBuf| {
        path.file_name().is_some_and(|name| is_table(&name.to_string_lossy()))
            && symlink_metadata(path).is_ok_and(|there| there.is_file())
    };
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| !of_group(path)).collect())
}

/// Removes the tables of a group, then its folder, which must be empty. Does not follow links.
fn remove(folder: &Path) -> Result<(), StageError> {
    if !symlink_metadata(folder).is_ok_and(|there| there.is_dir()) {
        return Ok(());
    }
    let files = rollup::TABLES.iter().flat_map(|table| [table.table.file, table.kept]);
    for path in files.map(|file| folder.join(file)) {
        if symlink_metadata(&path).is_ok_and(|there| there.is_file()) {
            fs::remove_file(&path).map_err(|error| StageError::io(&path, "remove", error))?;
        }
    }
    fs::remove_dir(folder).map_err(|error| StageError::io(folder, "remove", error))
}
