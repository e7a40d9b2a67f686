//! Disk format of the journal: a sealed document; and removal of unlisted files.

use heaplake_kit::IoAt;
use heaplake_kit::StageError;
use heaplake_kit::fs;
use heaplake_lake::seal::{self, Seal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Writes an object with its seal as the first member, atomically replacing an older one.
pub(super) fn write<T: Serialize>(path: &Path, document: &T) -> Result<(), StageError> {
    let text = serde_json::to_string(document).map_err(|error| StageError::scratch(path, error.to_string()))?;
    let new = path.with_extension("new");
    fs::write(&new, seal::sealed(&text).0).at(&new, "write")?;
    fs::rename(&new, path).at(path, "replace")
}

/// Reads an object; [`StageError::Scratch`] if its seal does not match.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, StageError> {
    let damaged = |problem: String| StageError::scratch(path, problem);
    let text = fs::read(path).at(path, "read")?;
    if !matches!(seal::of(&text), Seal::Whole(_)) {
        return Err(damaged("it is not what was written".to_owned()));
    }
    serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
}

/// Removes all files below a folder except `known`.
pub(super) fn remove_others(folder: &Path, known: &BTreeSet<PathBuf>) -> Result<(), StageError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for entry in entries.at(folder, "read")? {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path).at(&path, "remove")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_breaks_with_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.json");
        let document =
            (1..9).map(|n| (format!("key {n}"), 0.1 * f64::from(n))).collect::<std::collections::BTreeMap<_, _>>();
        write(&path, &document).unwrap();
        assert_eq!(read::<serde_json::Value>(&path).unwrap().as_object().unwrap().len(), 9);
        let text = std::fs::read(&path).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(read::<serde_json::Value>(&path).is_err(), "{at}");
            std::fs::write(&path, &text[..at]).unwrap();
            assert!(read::<serde_json::Value>(&path).is_err(), "{at}");
        }
    }
}
