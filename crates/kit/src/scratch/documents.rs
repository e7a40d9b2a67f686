//! Small documents in scratch.

use super::Scratch;
use crate::IoAt;
use crate::StageError;
use crate::checksums::Checksum;
use crate::fs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl Scratch {
    /// Writes a small document, atomically replacing an older one.
    pub fn write_document<T: Serialize>(&self, name: &str, document: &T) -> Result<(), StageError> {
        let path = self.file(name);
        let text = serde_json::to_vec(document).map_err(|error| StageError::scratch(&path, error.to_string()))?;
        if self.residents_for(&path).is_some_and(|residents| residents.keep(&path, &text)) {
            self.remove_named(&path).at(&path, "remove")?;
            self.note(&path, Some(Checksum::of(&text)));
            return Ok(());
        }
        let new = self.file(&format!("{name}.new"));
        self.note_file();
        fs::write(&new, &text).at(&new, "write")?;
        self.rename(&new, &path).at(&path, "replace")?;
        self.note(&path, Some(Checksum::of(&text)));
        Ok(())
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`StageError::Scratch`] when the file is damaged.
    pub fn read_document<T: DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        let path = self.file(name);
        let resident = self.residents.as_ref().and_then(|residents| residents.get(&path));
        let read = match &resident {
            Some(_) => Vec::new(),
            None => fs::read_at_most(&path, fs::LIST_BYTES).at(&path, "read")?,
        };
        let text = resident.as_ref().map_or(&*read, |pages| pages.bytes());
        serde_json::from_slice(text).map_err(|error| StageError::scratch(&path, error.to_string()))
    }

    /// Reads a document used by many stages: in memory it is parsed once.
    pub fn share_document<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<Arc<T>, StageError> {
        let path = self.file(name);
        let Some(pages) = self.residents.as_ref().and_then(|residents| residents.get(&path)) else {
            return self.read_document(name).map(Arc::new);
        };
        let parse = |text: &[u8]| serde_json::from_slice(text);
        pages.parsed(parse).map_err(|error| StageError::scratch(&path, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Residents;

    #[test]
    fn a_document_in_memory_is_parsed_once_for_all_who_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let residents = Residents::new(1 << 20);
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap().with_residents(residents.clone());
        let shared = || scratch.share_document::<Vec<u32>>("it.json").unwrap();
        for limit in [1 << 20, 0] {
            scratch.limit_residents(limit).unwrap();
            scratch.write_document("it.json", &[1, 2]).unwrap();
            let (first, second) = (shared(), shared());
            assert_eq!((&*first, &*second, Arc::ptr_eq(&first, &second)), (&vec![1, 2], &vec![1, 2], limit > 0));
            assert_eq!(*scratch.share_document::<[u8; 2]>("it.json").unwrap(), [1, 2], "as another type");
            scratch.write_document("it.json", &[3]).unwrap();
            assert_eq!((&*shared(), &*first), (&vec![3], &vec![1, 2]));
            assert!(scratch.share_document::<u32>("it.json").is_err());
        }
    }
}
