//! Small documents in scratch.

use super::Scratch;
use crate::StageError;
use crate::fs;
use crate::sums::Sum;
use serde::Serialize;
use serde::de::DeserializeOwned;

impl Scratch {
    /// Writes a small document, atomically replacing an older one.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write_document<T: Serialize>(&self, name: &str, document: &T) -> Result<(), StageError> {
        let path = self.file(name);
        let text = serde_json::to_vec(document)
            .map_err(|error| StageError::Scratch { path: path.clone(), problem: error.to_string() })?;
        if self.residents_for(&path).is_some_and(|residents| residents.keep(&path, &text)) {
            self.remove_named(&path).map_err(|error| StageError::io(&path, "remove", error))?;
            self.note(&path, Some(Sum::of(&text)));
            return Ok(());
        }
        let new = self.file(&format!("{name}.new"));
        self.note_file();
        fs::write(&new, &text).map_err(|error| StageError::io(&new, "write", error))?;
        self.rename(&new, &path).map_err(|error| StageError::io(&path, "replace", error))?;
        self.note(&path, Some(Sum::of(&text)));
        Ok(())
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file is damaged.
    pub fn read_document<T: DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        let path = self.file(name);
        let resident = self.residents.as_ref().and_then(|residents| residents.get(&path));
        let read = match &resident {
            Some(_) => Vec::new(),
            None => fs::read(&path).map_err(|error| StageError::io(&path, "read", error))?,
        };
        let text = resident.as_ref().map_or(&*read, |pages| pages.bytes());
        serde_json::from_slice(text).map_err(|error| StageError::Scratch { path, problem: error.to_string() })
    }
}
