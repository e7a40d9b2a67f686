//! Operations on names: rename, share, copy, truncate, remove.

use super::{ORIGINAL, Scratch};
use crate::IoAt;
use crate::StageError;
use crate::column::packed::width_of;
use crate::fs::{self, File};
use heaplake_schemas::scratch::Column;
use std::io;
use std::path::Path;

impl Scratch {
    /// Truncates a file to undo the append of a stage that runs again.
    pub fn cut(&self, path: &Path, length: u64) -> Result<(), StageError> {
        if self.residents.as_ref().is_some_and(|residents| residents.cut(path, length)) {
            return Ok(());
        }
        let cut = File::edit(path).and_then(|file| file.set_len(length));
        cut.at(path, "write")
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.residents.as_ref().is_some_and(|residents| residents.rename(from, to)) {
            // The replaced entry may be a file.
            return self.remove_named(to);
        }
        fs::rename(from, to)?;
        if let Some(residents) = &self.residents {
            residents.remove(to);
        }
        Ok(())
    }

    /// Renames a file that a stage rewrites to the name of its original, unless done already; see [`Self::originals`].
    pub fn set_aside(&self, name: &str) -> Result<(), StageError> {
        let (path, original) = (self.folder.join(name), self.original(name));
        if self.exists(&original) || !self.exists(&path) {
            return Ok(());
        }
        self.rename(&path, &original).at(&path, "rename")?;
        self.checksums.rename(&path, &original);
        Ok(())
    }

    /// Removes the original, which the next stage that rewrites the file would otherwise use.
    pub fn forget_aside(&self, name: &str) -> Result<(), StageError> {
        self.remove_file(&format!("{name}{ORIGINAL}"))
    }

    /// Removes a column whose absence is meaningful to later stages, if it exists.
    pub fn withdraw<T>(&self, column: Column<T>) -> Result<(), StageError> {
        self.remove_file(column.name)
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<(), StageError> {
        let path = self.file(name);
        self.note(&path, None);
        if self.residents.as_ref().is_some_and(|residents| residents.remove(&path)) {
            return Ok(());
        }
        self.remove_named(&path).at(&path, "remove")
    }

    /// Restores the original: the stage changes nothing.
    pub fn take_back<T>(&self, column: Column<T>) -> Result<(), StageError> {
        let (from, to) = (self.originals().path(column), self.path(column));
        self.rename(&from, &to).at(&from, "rename")?;
        self.checksums.rename(&from, &to);
        Ok(())
    }

    /// Gives a column a second name (a hard link, or a copy), unless that name exists already.
    pub fn share<T>(&self, column: Column<T>, name: Column<T>) -> Result<(), StageError> {
        debug_assert_eq!(width_of(column), width_of(name));
        let (from, to) = (self.path(column), self.path(name));
        if self.exists(&to) {
            return Ok(());
        }
        if self.residents.as_ref().is_some_and(|residents| residents.share(&from, &to)) {
            self.note(&to, self.sum(&from));
            return Ok(());
        }
        self.note_file();
        if fs::hard_link(&from, &to).is_err() {
            // Not every file system supports hard links.
            let new = self.file("shared.new");
            fs::copy(&from, &new).at(&new, "write")?;
            fs::rename(&new, &to).at(&to, "replace")?;
        }
        self.note(&to, self.sum(&from));
        Ok(())
    }

    /// Copies a column.
    pub fn copy<T>(&self, column: Column<T>, name: Column<T>) -> Result<(), StageError> {
        debug_assert_eq!(width_of(column), width_of(name));
        let (from, to) = (self.path(column), self.path(name));
        self.note(&to, None);
        // In memory a second name suffices: appends copy on write.
        if self.residents.as_ref().is_some_and(|residents| residents.share(&from, &to)) {
            self.note(&to, self.sum(&from));
            return Ok(());
        }
        self.note_file();
        fs::copy(&from, &to).at(&to, "write")?;
        self.note(&to, self.sum(&from));
        Ok(())
    }

    /// Replaces a column by another one, atomically.
    pub fn replace<T>(&self, column: Column<T>, by: Column<T>) -> Result<(), StageError> {
        debug_assert_eq!(width_of(column), width_of(by));
        let (path, by) = (self.path(column), self.path(by));
        self.rename(&by, &path).at(&path, "replace")?;
        self.checksums.rename(&by, &path);
        Ok(())
    }
}
