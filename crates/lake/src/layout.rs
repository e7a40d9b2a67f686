//! Where the files of a run are, by its description.

use crate::attempt::{MARK, is_folder};
use crate::packs;
use heaplake_schemas::run::Packed;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Location of a run's tables, from its description.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Layout {
    /// Folder of the tables.
    #[serde(default)]
    pub folder: Option<String>,
    /// The tables.
    #[serde(default)]
    pub tables: Vec<Named>,
    /// Schema version.
    #[serde(default)]
    pub schema_version: u32,
    /// Where its small tables are, if it is packed.
    #[serde(default)]
    pub packed: Option<Packed>,
    /// Whether the files never change, wherever they lie.
    #[serde(skip)]
    pub is_fixed: bool,
}

impl Layout {
    /// Names of the tables.
    pub(crate) fn files(&self) -> impl Iterator<Item = String> {
        self.tables.iter().map(|table| table.file.clone())
    }

    /// True if a file, in a folder beside the description or beside it, belongs to the run.
    pub(crate) fn has(&self, folder: Option<&str>, file: &str) -> bool {
        let is_there = self.folder.as_deref() == folder;
        is_there && (self.tables.iter().any(|table| table.file == file) || folder.is_some() && file == MARK)
    }

    /// Where a file is; `None` if the run does not list it.
    pub(crate) fn at(&self, place: &Path, file: &str) -> Option<At> {
        let table = self.tables.iter().find(|table| table.file == file)?;
        let folder = self.folder.as_ref().map_or_else(|| place.to_owned(), |folder| place.join(folder));
        let is_fixed = self.folder.is_some() || self.is_fixed;
        let (fixed, xxh3_64) = (table.bytes.filter(|_| is_fixed), table.xxh3_64.clone());
        Some(At { path: folder.join(file), fixed, xxh3_64 })
    }

    /// As [`Self::at`], for a file to fetch ahead; `None` for one that may be in a pack.
    pub(crate) fn begun(&self, place: &Path, file: &str) -> Option<At> {
        self.at(place, file).filter(|at| self.packed.is_none() || !packs::may_have(file, at.fixed))
    }
}

/// A table; its length is unknown in the description of a foreign version.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Named {
    /// File name.
    pub file: String,
    /// Length.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// XXH3-64, sixteen digits.
    #[serde(default)]
    pub xxh3_64: Option<String>,
}

/// The actual path of a file of a run, and its length if it never changes.
pub(crate) struct At {
    /// Path.
    pub path: PathBuf,
    /// Length, if it is known and never changes.
    pub fixed: Option<u64>,
    /// Its XXH3-64, if known.
    pub xxh3_64: Option<String>,
}

/// Parses the location of tables; a damaged text yields the default.
pub(crate) fn layout_of(text: &[u8]) -> Layout {
    let layout: Layout = serde_json::from_slice(text).unwrap_or_default();
    // A damaged or hostile description may name any folder.
    Layout { folder: layout.folder.filter(|folder| is_folder(folder)), ..layout }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_one_folder_of_tables() {
        let of = |folder: &str| layout_of(format!(r#"{{"folder": {folder:?}, "tables": []}}"#).as_bytes()).folder;
        assert_eq!(of("tables-1f"), Some("tables-1f".to_owned()));
        for hostile in ["", "..", "tables-/../x", "other", "/tables-1"] {
            assert_eq!(of(hostile), None, "{hostile}");
        }
        assert_eq!(layout_of(b"{").folder, None);
    }
}
