//! Files that appear in a folder together: the tables of a comparison.
//!
//! They are written to a hidden folder inside it and renamed when all are there, the one that describes the others
//! last. A crash leaves the files of before, or some new ones without a new description.

use crate::hidden::Hidden;
use heaplake_kit::{StageError, fs};
use std::path::{Path, PathBuf};

/// What names of hidden folders begin with.
const HIDDEN: &str = ".heaplake-new-";

/// Files in the making. Removed if dropped before their commit.
#[derive(Debug)]
pub struct NewFiles {
    folder: PathBuf,
    hidden: Option<Hidden>,
    made: bool,
}

impl NewFiles {
    /// Creates a hidden folder for files of `folder`, which is made if needed. What killed processes left there goes.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(folder: &Path) -> Result<Self, StageError> {
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
        // Constructed first: if the hidden folder cannot be created, the drop removes this one.
        let mut new = Self { folder: folder.to_owned(), hidden: None, made };
        new.hidden = Some(Hidden::create(folder, HIDDEN)?);
        Ok(new)
    }

    /// The folder to write to.
    #[must_use]
    pub fn hidden(&self) -> &Path {
        self.hidden.as_ref().map_or(&self.folder, Hidden::path)
    }

    /// Moves all files to their place, the one called `last` last. Files whose names begin with `replaced` and that are
    /// not among them are of an earlier comparison: they are removed.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn commit(mut self, last: &str, replaced: &str) -> Result<(), StageError> {
        let mut new = names(self.hidden())?;
        new.sort_by_key(|name| (name == last, name.clone()));
        for name in &new {
            let path = self.hidden().join(name);
            fs::sync(&path).map_err(|error| StageError::io(&path, "write", error))?;
        }
        let stale = names(&self.folder)?.into_iter().filter(|name| name.starts_with(replaced) && !new.contains(name));
        for name in stale {
            let path = self.folder.join(name);
            fs::remove_file(&path).map_err(|error| StageError::io(&path, "remove", error))?;
        }
        for name in &new {
            let (from, to) = (self.hidden().join(name), self.folder.join(name));
            fs::rename(&from, &to).map_err(|error| StageError::io(&to, "write", error))?;
        }
        self.made = false;
        let folder = &self.folder;
        fs::sync(folder).map_err(|error| StageError::io(folder, "write", error))
    }
}

/// Names of the files of a folder.
fn names(folder: &Path) -> Result<Vec<String>, StageError> {
    let entries = fs::read_dir(folder).map_err(|error| StageError::io(folder, "read", error))?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
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

    #[test]
    fn files_appear_together_and_replace_those_of_before() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("diff");
        let write = |names: &[&str]| {
            let new = NewFiles::create(&folder).unwrap();
            names.iter().for_each(|name| fs::write(new.hidden().join(name), name).unwrap());
            new
        };
        write(&["diff_a.parquet", "diff_b.parquet", "diff.json"]).commit("diff.json", "diff_").unwrap();
        fs::write(folder.join("mine.txt"), "").unwrap();
        drop(write(&["diff_c.parquet"]));
        write(&["diff_b.parquet", "diff.json"]).commit("diff.json", "diff_").unwrap();
        let mut found = names(&folder).unwrap();
        found.sort();
        assert_eq!(found, ["diff.json", "diff_b.parquet", "mine.txt"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }
}
