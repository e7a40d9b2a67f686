//! Files that appear in a folder together: the tables of a comparison.
//!
//! They are written to a hidden folder inside it and renamed when all are complete, the manifest that describes them
//! last. A crash leaves the old files, or some new ones without a new manifest. Only files listed in a manifest of
//! heaplake are replaced or removed ([`Manifest`]).

use crate::hidden::Hidden;
use crate::manifest::Manifest;
use heaplake_kit::{StageError, fs};
use std::collections::BTreeSet;
use std::fs::{Metadata, symlink_metadata};
use std::path::{Path, PathBuf};

/// Name prefix of hidden folders.
const HIDDEN: &str = ".heaplake-new-";

/// Unfinished files. Removed if dropped before their commit.
#[derive(Debug)]
pub struct NewFiles {
    folder: PathBuf,
    hidden: Option<Hidden>,
    made: bool,
    description: &'static str,
    is_form: fn(&str) -> bool,
}

impl NewFiles {
    /// Creates a hidden folder for new files of `folder`, which is created if needed; removes leftovers of killed
    /// processes. `description` is the name of the manifest; `is_form` accepts the names of other files.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if a foreign file has the name of the manifest.
    pub fn create(folder: &Path, description: &'static str, is_form: fn(&str) -> bool) -> Result<Self, StageError> {
        Manifest::read(folder, description, is_form)?;
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
        // Constructed first: on failure of the hidden folder, the drop removes this one.
        let mut new = Self { folder: folder.to_owned(), hidden: None, made, description, is_form };
        new.hidden = Some(Hidden::create(folder, HIDDEN)?);
        Ok(new)
    }

    /// The folder to write to.
    pub fn hidden(&self) -> &Path {
        self.hidden.as_ref().map_or(&self.folder, Hidden::path)
    }

    /// Moves all files to their place, the manifest last; then removes stale files of the former manifest.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if a foreign file has the name of a new one; then nothing changes.
    pub fn commit(mut self) -> Result<(), StageError> {
        let mut tables = names(self.hidden())?;
        for name in &tables {
            let path = self.hidden().join(name);
            fs::sync(&path).map_err(|error| StageError::io(&path, "write", error))?;
        }
        tables.remove(self.description);
        let manifest = Manifest::read(&self.folder, self.description, self.is_form)?;
        manifest.refuse_others(&tables, Metadata::is_file)?;
        let stale = manifest.begin(&tables, self.hidden())?;
        for name in tables.iter().map(String::as_str).chain([self.description]) {
            let (from, to) = (self.hidden().join(name), self.folder.join(name));
            fs::rename(&from, &to).map_err(|error| StageError::io(&to, "write", error))?;
        }
        self.made = false;
        let folder = &self.folder;
        fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))?;
        for path in stale.iter().map(|name| folder.join(name)).filter(|path| is_file(path)) {
            fs::remove_file(&path).map_err(|error| StageError::io(&path, "remove", error))?;
        }
        manifest.end()
    }
}

fn is_file(path: &Path) -> bool {
    symlink_metadata(path).is_ok_and(|there| there.is_file())
}

/// Names of the files of a folder.
fn names(folder: &Path) -> Result<BTreeSet<String>, StageError> {
    let entries = fs::read_dir(folder).map_err(|error| StageError::io(folder, "read", error))?;
    let files = entries.flatten().filter(|entry| is_file(&entry.path()));
    Ok(files.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        self.hidden = None;
        if self.made {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn manifest(tables: &[&str]) -> String {
        let tables: Vec<String> = tables.iter().map(|table| format!("{{\"file\": \"{table}\"}}")).collect();
        format!("{{\"heaplake_version\": \"0\", \"schema_version\": 1, \"tables\": [{}]}}", tables.join(","))
    }

    #[test]
    fn files_appear_together_and_replace_those_of_before() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("diff");
        let write = |names: &[&str]| {
            let new = NewFiles::create(&folder, "diff.json", |name| name.starts_with("diff_")).unwrap();
            names.iter().for_each(|name| fs::write(new.hidden().join(name), name).unwrap());
            fs::write(new.hidden().join("diff.json"), manifest(names)).unwrap();
            new
        };
        let found = || names(&folder).unwrap().into_iter().collect::<Vec<_>>();
        write(&["diff_a", "diff_b"]).commit().unwrap();
        fs::write(folder.join("diff_mine"), "mine").unwrap();
        drop(write(&["diff_c"]));
        write(&["diff_b"]).commit().unwrap();
        assert_eq!(found(), ["diff.json", "diff_b", "diff_mine"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        // A file of the user is not replaced; then nothing else is.
        let refused = write(&["diff_a", "diff_mine"]).commit();
        assert!(matches!(refused, Err(StageError::Unusable { .. })));
        assert_eq!(found(), ["diff.json", "diff_b", "diff_mine"]);
        assert_eq!(fs::read(folder.join("diff_mine")).unwrap(), b"mine");
        assert_eq!(fs::read_to_string(folder.join("diff.json")).unwrap(), manifest(&["diff_b"]));
        // Killed before the manifest was written: its new files belong to heaplake.
        fs::write(folder.join("diff_c"), "half").unwrap();
        fs::write(folder.join(crate::manifest::PENDING), r#"{"names": ["diff_b", "diff_c"]}"#).unwrap();
        write(&["diff_a"]).commit().unwrap();
        assert_eq!(found(), ["diff.json", "diff_a", "diff_mine"]);
    }
}
