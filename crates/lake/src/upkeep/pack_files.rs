//! The packs of a lake, for the commands that write them.
//!
//! On a disk, one command at a time writes packs: it holds a lock. A store has no locks: a pack is put on the condition
//! that it is still the one that the command read, so of two commands one fails. The tables of runs in a store are copied
//! to a local folder, and packed from there.

use crate::hidden::Hidden;
use crate::lock::Lock;
use crate::packs::{self, FOLDER, Pack};
use crate::{ahead, copies, stored};
use heaplake_kit::storage::{self, Object, Only};
use heaplake_kit::threads::locked;
use heaplake_kit::{StageError, fs};
use heaplake_schemas::tables;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Prefix of hidden folders for new packs.
const HIDDEN: &str = ".heaplake-new-";
/// Name of the lock in the folder of packs.
const LOCK: &str = ".heaplake-lock";

/// The packs of a lake. While it lives, no other command on this disk writes them.
pub(super) struct PackFiles {
    lake: PathBuf,
    kind: Kind,
}

enum Kind {
    Disk(#[expect(dead_code, reason = "held until the drop")] Lock),
    Store {
        /// Local folder for new packs and copies of tables.
        scratch: PathBuf,
        /// Tags of the packs that were opened; none of one that does not exist.
        tags: Mutex<BTreeMap<PathBuf, Option<String>>>,
    },
}

impl PackFiles {
    /// False if a lake on a disk has no folder of packs.
    pub(super) fn are_in(lake: &Path) -> bool {
        storage::is_url(lake) || lake.join(FOLDER).is_dir()
    }

    /// Takes the packs of a lake; their folder is created if needed. `scratch` is for those of a store.
    ///
    /// # Errors
    /// [`StageError::Refused`] if another command writes them.
    pub(super) fn take(lake: &Path, scratch: &Path) -> Result<Self, StageError> {
        let folder = lake.join(FOLDER);
        if !storage::is_url(lake) {
            refuse_link(&folder)?;
            fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
        }
        Self::take_if_free(lake, scratch)?.ok_or_else(|| StageError::Refused {
            problem: format!("{}: another heaplake compacts this lake", folder.display()),
            advice: "wait until it is done".to_owned(),
        })
    }

    /// As [`Self::take`], for a command that has done its work otherwise; `None` if another command writes them.
    pub(super) fn take_if_free(lake: &Path, scratch: &Path) -> Result<Option<Self>, StageError> {
        let kind = match storage::is_url(lake) {
            true => Kind::Store { scratch: scratch.to_owned(), tags: Mutex::default() },
            false => {
                refuse_link(&lake.join(FOLDER))?;
                let Some(lock) = Lock::try_take(lake.join(FOLDER).join(LOCK))? else { return Ok(None) };
                Kind::Disk(lock)
            }
        };
        Ok(Some(Self { lake: lake.to_owned(), kind }))
    }

    /// The lake.
    pub(super) fn lake(&self) -> &Path {
        &self.lake
    }

    /// True if a command on another machine may write packs at the same time.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::Store { .. })
    }

    /// Lists the packs of this schema version: name of the table, release, night and path, by path.
    pub(super) fn list(&self, schema_version: u32) -> Result<Vec<PackFile>, StageError> {
        let mut found = match &self.kind {
            Kind::Disk(_) => on_disk(&self.lake)?,
            Kind::Store { .. } => in_store(&self.lake)?,
        };
        found.retain(|pack| {
            pack.path == packs::path(&self.lake, pack.file, (&pack.release, &pack.night), schema_version)
        });
        Ok(found)
    }

    /// Opens a pack, for [`Self::write_over`].
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none, [`io::ErrorKind::InvalidData`] for a damaged one.
    pub(super) fn open(&self, path: &Path) -> io::Result<Arc<Pack>> {
        let Kind::Store { tags, .. } = &self.kind else { return Pack::open(path).map(Arc::new) };
        let remember = |tag| locked(tags).insert(path.to_owned(), tag);
        let object = match storage::store()?.about(&path.to_string_lossy()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                remember(None);
                return Err(error);
            }
            about => about?,
        };
        remember(object.tag.clone());
        Pack::in_store(path, object).map(Arc::new)
    }

    /// Lets `write` make a pack in a hidden folder, and puts it in the place of the old one, which [`Self::open`] opened
    /// if there is one.
    ///
    /// # Errors
    /// [`StageError::Refused`] if another command wrote it meanwhile, in a store.
    pub(super) fn write_over<T>(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<T, StageError>,
    ) -> Result<T, StageError> {
        let table = path.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
        let new = |hidden: &Hidden| hidden.path().join(table).with_extension("parquet");
        match &self.kind {
            Kind::Disk(_) => {
                let hidden = Hidden::create(&self.lake.join(FOLDER), HIDDEN)?;
                let written = write(hidden.path())?;
                replace(&self.lake, &new(&hidden), path)?;
                Ok(written)
            }
            Kind::Store { scratch, tags } => {
                let hidden = Hidden::create(scratch, HIDDEN)?;
                let written = write(hidden.path())?;
                let tag = locked(tags).get(path).cloned().flatten();
                put(&new(&hidden), path, tag)?;
                packs::forget(path);
                Ok(written)
            }
        }
    }

    /// Removes a pack that no run names; in a store, where a command might add rows meanwhile, it stays without rows.
    pub(super) fn remove(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<u64, StageError>,
    ) -> Result<(), StageError> {
        if self.is_shared() {
            return self.write_over(path, write).map(drop);
        }
        fs::remove_file(path).map_err(|error| StageError::io(path, "remove", error))?;
        // Folders that have no other pack go, too.
        path.ancestors().skip(1).take(3).take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        Ok(())
    }

    /// Folder with tables of a run: its own, or that of their copies.
    pub(super) fn folder_of(&self, place: &Path) -> PathBuf {
        match &self.kind {
            Kind::Disk(_) => place.to_owned(),
            Kind::Store { scratch, .. } => scratch.join("tables").join(place.file_name().unwrap_or_default()),
        }
    }

    /// Copies tables of runs of one release, given by place, name and bytes, to [`Self::folder_of`] each. Those of runs
    /// on a disk stay where they are. Returns the places of runs with a table that is missing.
    pub(super) fn copy(&self, tables: &[(&Path, &str, u64)]) -> Result<BTreeSet<PathBuf>, StageError> {
        if !self.is_shared() {
            return Ok(BTreeSet::new());
        }
        let mut copied = Vec::with_capacity(tables.len());
        for &(place, file, bytes) in tables {
            let folder = self.folder_of(place);
            fs::create_dir_all(&folder).map_err(|error| StageError::io(&folder, "create", error))?;
            let path = place.join(file);
            let at = stored::place_of(&path).map_err(|error| StageError::io(&path, "find", error))?;
            copied.push((ahead::object(&at, bytes), folder.join(file)));
        }
        let mut missing = BTreeSet::new();
        for (outcome, (place, file, _)) in copies::copy(&copied)?.into_iter().zip(tables) {
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::NotFound => drop(missing.insert((*place).to_owned())),
                outcome => outcome.map_err(|error| StageError::io(&place.join(file), "copy", error))?,
            }
        }
        Ok(missing)
    }

    /// Removes the copies of [`Self::copy`].
    pub(super) fn remove_copies(&self) -> Result<(), StageError> {
        let Kind::Store { scratch, .. } = &self.kind else { return Ok(()) };
        let folder = scratch.join("tables");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StageError::io(&folder, "remove", error)),
            _ => Ok(()),
        }
    }
}

/// A pack by the names of its folders.
pub(super) struct PackFile {
    /// File name of its table in a run.
    pub file: &'static str,
    /// Release.
    pub release: String,
    /// Night.
    pub night: String,
    /// Path.
    pub path: PathBuf,
}

/// Lists the packs on a disk.
fn on_disk(lake: &Path) -> Result<Vec<PackFile>, StageError> {
    let mut found = Vec::new();
    for table in tables::ALL {
        if lake.join(FOLDER).is_symlink() || lake.join(FOLDER).join(table.name).is_symlink() {
            continue;
        }
        for (release, folder) in parts_of(&lake.join(FOLDER).join(table.name), "release=")? {
            for (night, folder) in parts_of(&folder, "night=")? {
                for entry in storage::entries(&folder).map_err(|error| StageError::io(&folder, "read", error))? {
                    let path = folder.join(&entry.name);
                    if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                        found.push(PackFile { file: table.file, release: release.clone(), night: night.clone(), path });
                    }
                }
            }
        }
    }
    Ok(found)
}

/// The folders `<prefix><value>` of a folder, by value.
fn parts_of(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, StageError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(StageError::io(folder, "read", error)),
    };
    let mut parts = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| StageError::io(folder, "read", error))?;
        // A link may lead out of the lake.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().into_string().unwrap_or_default();
        parts.extend(name.strip_prefix(prefix).map(|value| (value.to_owned(), entry.path())));
    }
    parts.sort();
    Ok(parts)
}

/// Lists the packs in a store, by one listing.
fn in_store(lake: &Path) -> Result<Vec<PackFile>, StageError> {
    let url = lake.to_string_lossy().into_owned();
    let failed = |error| StageError::io(lake, "list", error);
    let folder = lake.join(FOLDER).to_string_lossy().into_owned();
    let objects = storage::store().map_err(failed)?.list(&folder).map_err(failed)?.objects;
    let pack = |object: Object| {
        let within = object.url.strip_prefix(&url)?.trim_start_matches('/');
        let parts: Vec<&str> = within.split('/').collect();
        let table = tables::ALL.iter().find(|table| packs::has(&parts) && parts[1] == table.name)?;
        let value = |part: &str| part.split_once('=').map(|(_, value)| value.to_owned());
        Some(PackFile {
            file: table.file,
            release: value(parts[2])?,
            night: value(parts[3])?,
            path: object.url.clone().into(),
        })
    };
    Ok(objects.into_iter().filter_map(pack).collect())
}

/// Renames a new pack over the old one.
fn replace(lake: &Path, new: &Path, path: &Path) -> Result<(), StageError> {
    let failed = |action: &'static str| move |error| StageError::io(path, action, error);
    let Some(folder) = path.parent() else { return Ok(()) };
    folder.ancestors().take_while(|folder| *folder != lake).try_for_each(refuse_link)?;
    fs::create_dir_all(folder).map_err(failed("create"))?;
    fs::rename(new, path).map_err(failed("rename to"))?;
    // The folders up to the lake may be new.
    for folder in folder.ancestors().take_while(|folder| *folder != lake) {
        fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))?;
    }
    fs::sync(lake).map_err(|error| StageError::io(lake, "write", error))
}

/// Puts a new pack, if the one in the store still has this tag, or there is still none.
fn put(new: &Path, path: &Path, tag: Option<String>) -> Result<(), StageError> {
    let content = fs::read(new).map_err(|error| StageError::io(new, "read", error))?;
    let only = tag.map_or(Only::IfNone, Only::IfStill);
    match storage::store().and_then(|store| store.put(&path.to_string_lossy(), content.into(), only)) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
            Err(StageError::Refused {
                problem: format!("{}: another command wrote this pack meanwhile", path.display()),
                advice: "run the same command again".to_owned(),
            })
        }
        Err(error) => Err(StageError::io(path, "write", error)),
    }
}

/// Refuses a symbolic link, which may lead out of the lake.
fn refuse_link(folder: &Path) -> Result<(), StageError> {
    match folder.is_symlink() {
        false => Ok(()),
        true => Err(StageError::unusable(
            folder,
            "this is a symbolic link, and packs stay in their lake",
            "remove the link",
        )),
    }
}
