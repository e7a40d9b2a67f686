//! The folder in which the stages of one run meet.

use crate::StageError;
use heaplake_schemas::scratch::Column;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A scratch folder. Columns are files inside it; nothing else may write there while a run uses it.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    fullest: AtomicU64,
}

impl Scratch {
    /// Makes the folder, empty: what an earlier run left there is removed.
    ///
    /// # Errors
    /// [`StageError::Io`] when the folder cannot be made.
    pub fn create(folder: &Path) -> Result<Self, StageError> {
        let scratch = Self { folder: folder.to_owned(), fullest: AtomicU64::new(0) };
        if folder.exists() {
            scratch.clear()?;
        }
        fs::create_dir_all(folder).map_err(|error| StageError::io(folder, "create", error))?;
        Ok(scratch)
    }

    /// Where the columns lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// File of a column.
    #[must_use]
    pub fn path<T>(&self, column: Column<T>) -> PathBuf {
        self.folder.join(column.name)
    }

    /// File of a name that is no column of [`heaplake_schemas::scratch`].
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether a column has been written.
    #[must_use]
    pub fn has<T>(&self, column: Column<T>) -> bool {
        self.path(column).exists()
    }

    /// Removes a column that no later stage reads; one that does not exist is fine.
    pub fn discard<T>(&self, column: Column<T>) {
        self.discard_file(column.name);
    }

    /// The same by name.
    pub fn discard_file(&self, name: &str) {
        // A file that stays is only space; the whole folder goes at the end.
        let _ = fs::remove_file(self.file(name));
    }

    /// Looks how much disk the folder takes. Called after each stage, and by what takes space for a part of one.
    pub fn measure(&self) {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let bytes = files.filter_map(|entry| entry.metadata().ok()).map(|file| file.blocks() * 512).sum();
        self.fullest.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The most disk that [`Self::measure`] found taken, bytes.
    #[must_use]
    pub fn fullest(&self) -> u64 {
        self.fullest.load(Ordering::Relaxed)
    }

    /// Opens the folder as an earlier run left it.
    ///
    /// # Errors
    /// [`StageError::Io`] when there is none.
    pub fn reopen(folder: &Path) -> Result<Self, StageError> {
        fs::read_dir(folder).map_err(|error| StageError::io(folder, "read", error))?;
        Ok(Self { folder: folder.to_owned(), fullest: AtomicU64::new(0) })
    }

    /// Keeps a column as it is under another name, unless something is kept there already. A stage that replaces a
    /// column reads what was kept, so that it can be run again after it was killed half-way.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn keep<T>(&self, column: Column<T>, kept: Column<T>) -> Result<(), StageError> {
        let (from, to) = (self.path(column), self.path(kept));
        if to.exists() {
            return Ok(());
        }
        if fs::hard_link(&from, &to).is_err() {
            // Not every file system has links.
            let new = self.file("kept.new");
            fs::copy(&from, &new).map_err(|error| StageError::io(&new, "write", error))?;
            fs::rename(&new, &to).map_err(|error| StageError::io(&to, "replace", error))?;
        }
        Ok(())
    }

    /// Puts a column in the place of another one, in one step.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn replace<T>(&self, column: Column<T>, by: Column<T>) -> Result<(), StageError> {
        let path = self.path(column);
        fs::rename(self.path(by), &path).map_err(|error| StageError::io(&path, "replace", error))
    }

    /// Writes a small document that is no column, replacing an older one in one step.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write_document<T: Serialize>(&self, name: &str, document: &T) -> Result<(), StageError> {
        let path = self.file(name);
        let text = serde_json::to_vec(document)
            .map_err(|error| StageError::Scratch { path: path.clone(), problem: error.to_string() })?;
        let new = self.file(&format!("{name}.new"));
        fs::write(&new, text).map_err(|error| StageError::io(&new, "write", error))?;
        fs::rename(&new, &path).map_err(|error| StageError::io(&path, "replace", error))
    }

    /// Reads it back.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file is damaged.
    pub fn read_document<T: DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        let path = self.file(name);
        let text = fs::read(&path).map_err(|error| StageError::io(&path, "read", error))?;
        serde_json::from_slice(&text).map_err(|error| StageError::Scratch { path, problem: error.to_string() })
    }

    fn clear(&self) -> Result<(), StageError> {
        fs::remove_dir_all(&self.folder).map_err(|error| StageError::io(&self.folder, "remove", error))
    }

    /// Removes the folder and everything in it.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn remove(self) -> Result<(), StageError> {
        self.clear()
    }
}
