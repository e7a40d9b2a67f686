//! Document and private columns of a V8 snapshot, shared by the stages of this folder.

pub(crate) use super::header::HINT;
use super::header::Header;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{Column, Metadata, Per, documents};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// File of the [`Snapshot`].
pub(super) const DOCUMENT: &str = "v8.json";

/// State of DOM nodes in the file: 0 unknown, 1 attached, 2 detached; only if the file has the field.
pub(super) const DETACHEDNESS: Column<u8> = Column::of("v8.detachedness", Per::Node);

/// Strings that begin with `<` or `Detached <`: names of DOM elements, which classes cut at the first space.
pub(super) const TAG_STRING: Column<StringId> = Column::new("v8.tag_string");

/// Strings that name the edges of weak-map entries; their columns hold the entry's table and a hash of the part that
/// both edges share.
pub(super) const EPHEMERON_STRING: Column<StringId> = Column::new("v8.ephemeron_string");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_TABLE: Column<u64> = Column::new("v8.ephemeron_table");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_SHARED: Column<u64> = Column::new("v8.ephemeron_shared");

/// Header of the file and metadata learned since.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The file's own description of its fields.
    pub header: Header,
    /// Facts for later stages.
    pub metadata: Metadata,
}

impl Snapshot {
    /// Loads the document.
    pub fn load(scratch: &Scratch) -> Result<Arc<Self>, StageError> {
        scratch.share_document(DOCUMENT)
    }

    /// Saves the document, and the metadata for stages that know no format.
    pub fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(DOCUMENT, self)?;
        scratch.write_document(documents::METADATA, &self.metadata)
    }
}
