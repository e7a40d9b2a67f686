//! Shared by `diff` and `trend`: folders, rules, and the description of the tables.

use super::choices::{Naming, Resources};
use crate::diagnostic::Diagnostic;
use crate::engine::workplace;
use heaplake_compare::Rules;
use heaplake_compare::sides::{Formats, OfFormat};
use heaplake_kit::{StageError, fs};
use heaplake_lake::files::NewFiles;
use heaplake_lake::mirror::Mirror;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Files that a command writes: the name of their description, and which names match the tables.
#[derive(Clone, Copy)]
pub(super) struct Files {
    pub description: &'static str,
    pub is_table: fn(&str) -> bool,
}

/// Folders of a command.
#[derive(Clone, Copy)]
pub(super) struct Folders<'a> {
    /// Folder for tables and description.
    pub tables: &'a Path,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

impl Files {
    /// Calls `work` with folders of the command's own. Then moves what it wrote into `out`, if the user named one.
    pub(super) fn make<T>(
        self,
        out: Option<&PathBuf>,
        resources: &Resources,
        work: impl FnOnce(Folders<'_>) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let scratch = workplace::passing(resources.scratch.as_deref()).map_err(Diagnostic::of_usage)?;
        let scratch = scratch.path();
        let Some(folder) = out else { return work(Folders { tables: scratch, scratch }) };
        let mirror = Mirror::open(folder, scratch, self.description, false)?;
        let new = NewFiles::create(mirror.local(), self.description, self.is_table).map_err(Diagnostic::of_usage)?;
        let made = work(Folders { tables: new.hidden(), scratch })?;
        new.commit()?;
        mirror.publish()?;
        Ok(made)
    }

    /// Removes the tables that an attempt left in a folder of the command's own.
    pub(super) fn clear(self, folder: &Path) -> Result<(), StageError> {
        let io = |error| StageError::io(folder, "clear", error);
        for entry in fs::read_dir(folder).map_err(io)?.flatten() {
            if (self.is_table)(&entry.file_name().to_string_lossy()) {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }

    /// Writes the description.
    pub(super) fn describe(self, description: &impl Serialize, folder: &Path) -> Result<(), Diagnostic> {
        let path = folder.join(self.description);
        let text = serde_json::to_vec_pretty(description)
            .map_err(|error| Diagnostic::failed(error.to_string(), "report this as a bug"))?;
        fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error).into())
    }
}

/// Rules of names for each format.
pub(super) fn rules<'a>(
    formats: &Formats,
    naming: &Naming,
    pair: Option<&'a str>,
    scratch: &'a Path,
) -> Result<Vec<Rules<'a>>, Diagnostic> {
    let of_format = |part: &OfFormat| {
        let (names, own_names) = naming.names(&part.format)?;
        Ok(Rules { names, own_names, pair, scratch })
    };
    formats.parts.iter().map(of_format).collect()
}
