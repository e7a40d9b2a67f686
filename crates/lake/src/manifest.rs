//! Manifests: the entries of a user's folder that heaplake may remove or replace.
//!
//! A comparison (`diff.json`), a trend (`trend.json`) and a rollup (`rollup.json`) each lie in a folder that may
//! contain files of the user as well. Their manifest is replaced last, so from the first new file until then a second
//! file, [`PENDING`], lists added and removed entries: the next command learns from it the leftovers of a killed one.
//!
//! Invariants: a listed name counts only if it names a direct entry of the folder (no `/`, no `..`) and has the form of
//! names that heaplake gives. A foreign manifest is never replaced.

use heaplake_kit::{StageError, fs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::symlink_metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the list of entries about to be added and removed.
pub const PENDING: &str = ".heaplake-pending.json";

/// Advice for a file that heaplake did not write but would have to replace.
const ADVICE: &str = "move it away, or name another folder with --out";

/// The entries of a folder that belong to heaplake.
#[derive(Debug)]
pub struct Manifest {
    folder: PathBuf,
    owned: BTreeSet<String>,
}

/// Members that each manifest of heaplake has, and those that name entries of its folder.
#[derive(Deserialize)]
pub(crate) struct Listing {
    #[serde(rename = "heaplake_version")]
    _heaplake_version: String,
    #[serde(rename = "schema_version")]
    _schema_version: u32,
    /// In a store, the folder of the tables.
    #[serde(default)]
    pub(crate) folder: Option<String>,
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Table {
    file: String,
}

#[derive(Deserialize)]
struct Group {
    folder: String,
}

#[derive(Default, Deserialize, Serialize)]
struct Pending {
    names: BTreeSet<String>,
}

impl Manifest {
    /// Reads the manifest `file` of a folder, if it exists. `is_form` accepts the names that heaplake gives there.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if a foreign entry has the name of the manifest.
    pub fn read(folder: &Path, file: &str, is_form: fn(&str) -> bool) -> Result<Self, StageError> {
        let listed = listed(&folder.join(file))?;
        let pending = fs::read_at_most(folder.join(PENDING), fs::LIST_BYTES)
            .ok()
            .and_then(|text| serde_json::from_slice::<Pending>(&text).ok());
        let all = listed.into_iter().chain(pending.unwrap_or_default().names);
        Ok(Self { folder: folder.to_owned(), owned: all.filter(|name| is_plain(name) && is_form(name)).collect() })
    }

    /// True if the entry belongs to heaplake.
    pub fn owns(&self, name: &str) -> bool {
        self.owned.contains(name)
    }

    /// Refuses to replace foreign entries: each existing entry must be listed and of the kind (file or folder) that
    /// `is_kind` accepts.
    ///
    /// # Errors
    /// [`StageError::Unusable`] for a foreign entry.
    pub fn refuse_others(
        &self,
        new: &BTreeSet<String>,
        is_kind: fn(&std::fs::Metadata) -> bool,
    ) -> Result<(), StageError> {
        for name in new {
            let path = self.folder.join(name);
            let Ok(there) = symlink_metadata(&path) else { continue };
            if !self.owns(name) || !is_kind(&there) {
                return Err(StageError::unusable(&path, "heaplake did not write this, so it is not replaced", ADVICE));
            }
        }
        Ok(())
    }

    /// Records added and removed entries, through a hidden folder inside this one; returns the entries to remove.
    pub fn begin(&self, new: &BTreeSet<String>, hidden: &Path) -> Result<Vec<String>, StageError> {
        let path = self.folder.join(PENDING);
        let pending = Pending { names: self.owned.union(new).cloned().collect() };
        let written = serde_json::to_vec(&pending).map_err(io::Error::from).and_then(|text| {
            let passing = hidden.join(PENDING);
            fs::write(&passing, text)?;
            fs::sync(&passing)?;
            fs::rename(&passing, &path)?;
            fs::sync(&self.folder)
        });
        written.map_err(|error| StageError::io(&path, "write", error))?;
        Ok(self.owned.difference(new).cloned().collect())
    }

    /// Removes the record of [`Self::begin`]: the manifest is complete.
    pub fn end(self) -> Result<(), StageError> {
        let path = self.folder.join(PENDING);
        fs::remove_file_if_any(&path).map_err(|error| StageError::io(&path, "remove", error))
    }
}

/// Returns the entries listed by a manifest; none if it does not exist.
fn listed(path: &Path) -> Result<Vec<String>, StageError> {
    match symlink_metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(StageError::io(path, "examine", error)),
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(StageError::unusable(path, "this is no regular file", ADVICE)),
    }
    let text = fs::read_at_most(path, fs::LIST_BYTES).map_err(|error| StageError::io(path, "read", error))?;
    let listing: Listing = serde_json::from_slice(&text)
        .map_err(|_| StageError::unusable(path, "this is no manifest of heaplake's, so it is not replaced", ADVICE))?;
    let files = listing.tables.into_iter().map(|table| table.file);
    Ok(files.chain(listing.groups.into_iter().map(|group| group.folder)).collect())
}

/// True if a name is a plain, visible entry name.
fn is_plain(name: &str) -> bool {
    !name.contains(['/', '\0']) && !name.starts_with('.') && !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_form(name: &str) -> bool {
        name.contains("diff_")
    }

    #[test]
    fn only_what_a_manifest_lists_is_owned() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(PENDING, r#"{"names": ["diff_b", "/diff_x"]}"#);
        let made = r#"{"heaplake_version": "0", "schema_version": 1, "tables": "#;
        write("m", &format!(r#"{made}[{{"file": "diff_a"}}, {{"file": "../diff_x"}}, {{"file": "thesis"}}]}}"#));
        let manifest = Manifest::read(folder.path(), "m", is_form).unwrap();
        assert_eq!(manifest.owned.iter().collect::<Vec<_>>(), ["diff_a", "diff_b"]);
        let new = |name: &str| BTreeSet::from([name.to_owned()]);
        let refused = |name: &str| manifest.refuse_others(&new(name), std::fs::Metadata::is_file).is_err();
        write("diff_a", "");
        write("diff_c", "");
        std::fs::create_dir(folder.path().join("diff_b")).unwrap();
        assert!(!refused("diff_a") && refused("diff_b") && refused("diff_c") && !refused("diff_d"));
        for other in ["{}", "", r#"{"tables": []}"#] {
            write("m", other);
            assert!(matches!(Manifest::read(folder.path(), "m", is_form), Err(StageError::Unusable { .. })), "{other}");
        }
    }
}
