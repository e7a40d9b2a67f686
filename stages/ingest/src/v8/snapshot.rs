//! A V8 snapshot between its stages: its document, and columns that only stages of this folder know.

pub(crate) use super::header::HINT;
use super::header::Header;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{Column, Facts, Per, documents};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// File of the [`Snapshot`].
pub(super) const DOCUMENT: &str = "v8.json";

/// The state of DOM nodes as the file gives it: 0 unknown, 1 attached, 2 detached. Only where the file has the field.
pub(super) const DETACHEDNESS: Column<u8> = Column::of("v8.detachedness", Per::Node);

/// Strings that begin with `<` or `Detached <`: names of DOM elements, which classes cut at the first space.
pub(super) const TAG_STRING: Column<StringId> = Column::new("v8.tag_string");

/// Strings that name the edges of weak-map entries, with the entry's table and a hash of what both edges share.
pub(super) const EPHEMERON_STRING: Column<StringId> = Column::new("v8.ephemeron_string");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_TABLE: Column<u64> = Column::new("v8.ephemeron_table");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_SHARED: Column<u64> = Column::new("v8.ephemeron_shared");

/// What the file's header says, and what was learned since.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The file's own description of its fields.
    pub header: Header,
    /// What later stages get to know.
    pub facts: Facts,
}

impl Snapshot {
    /// As the stage before left it.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(scratch: &Scratch) -> Result<Arc<Self>, StageError> {
        scratch.share_document(DOCUMENT)
    }

    /// For the next stage, and the facts for those that know no format.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(DOCUMENT, self)?;
        scratch.write_document(documents::FACTS, &self.facts)
    }
}
