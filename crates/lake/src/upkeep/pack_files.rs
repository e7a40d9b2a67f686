//! Files of packs: their lock, and their replacement.

use crate::hidden::Hidden;
use crate::lock::Lock;
use crate::packs::FOLDER;
use heaplake_kit::{StageError, fs};
use std::path::Path;

/// Prefix of hidden folders for new packs.
const HIDDEN: &str = ".heaplake-new-";
/// Name of the lock in the folder of packs.
const LOCK: &str = ".heaplake-lock";
/// Takes the lock of the folder of packs, which is created if needed.
pub(super) fn lock(folder: &Path) -> Result<Lock, StageError> {
    refuse_link(folder)?;
    fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
    Lock::try_take(folder.join(LOCK))?.ok_or_else(|| StageError::Refused {
        problem: format!("{}: another heaplake compacts this lake", folder.display()),
        advice: "wait until it is done".to_owned(),
    })
}

/// As [`lock`], for a command that has done its work otherwise; `None` if the lock is taken.
pub(super) fn lock_if_free(folder: &Path) -> Result<Option<Lock>, StageError> {
    refuse_link(folder)?;
    Lock::try_take(folder.join(LOCK))
}

/// Writes a pack into a hidden folder and renames it to its path.
pub(super) fn write_over<T>(
    lake: &Path,
    path: &Path,
    write: impl FnOnce(&Path) -> Result<T, StageError>,
) -> Result<T, StageError> {
    let failed = |action: &'static str| move |error| StageError::io(path, action, error);
    let hidden = Hidden::create(&lake.join(FOLDER), HIDDEN)?;
    let written = write(hidden.path())?;
    let (Some(folder), Some(table)) = (path.parent(), path.ancestors().nth(3).and_then(Path::file_name)) else {
        return Ok(written);
    };
    folder.ancestors().take_while(|folder| *folder != lake).try_for_each(refuse_link)?;
    fs::create_dir_all(folder).map_err(failed("create"))?;
    let file = hidden.path().join(table).with_extension("parquet");
    fs::rename(&file, path).map_err(failed("rename to"))?;
    // The folders up to the lake may be new.
    for folder in folder.ancestors().take_while(|folder| *folder != lake) {
        fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))?;
    }
    fs::sync(lake).map_err(|error| StageError::io(lake, "write", error))?;
    Ok(written)
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
