//! Facts of a Java heap dump that the stages of this folder share.

use super::sizes::Sizes;
use heaplake_input::source::Identity;
use heaplake_kit::access::{Access, column, document};
use heaplake_kit::{Job, Scratch, StageError};
use heaplake_schemas::ids::NO_ID;
use heaplake_schemas::scratch::Column;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// Advice of errors in a dump.
pub(crate) const HINT: &str =
    "the dump is damaged or incomplete: take it again, or give --salvage to analyse what can be read";

/// Root of the graph, a node without a record in the dump.
pub(crate) const ROOT: u32 = 0;
/// The boot loader, also without a record: the loader of classes without a loader. Its address is 0, as in MAT.
pub(crate) const BOOT_LOADER: u32 = 1;
/// The first node with a record; the others follow in the order of the dump.
pub(crate) const FIRST: u32 = 2;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root; no object has it.
pub(crate) const ROOT_ID: u64 = NO_ID;

const _: () = assert!(FIRST == BOOT_LOADER + 1);

/// Content that was decompressed or came from standard input. Other contents are read in place.
pub(crate) const CONTENT: Column<u8> = Column::new("jvm.content");

/// Facts of the dump for later stages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dump {
    /// Name of the dump in messages.
    pub name: String,
    /// Path of the decompressed content.
    pub content: PathBuf,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// Hash of the content if it lies in a file of the user, who may change it.
    pub hash: Option<String>,
    /// Bytes of an id.
    pub id_bytes: u8,
    /// Range of its heap records: those of one heap, if the file has several.
    pub heap: Range<u64>,
    /// Memory layout of the heap.
    pub sizes: Sizes,
    /// log2 of the alignment of addresses.
    pub unit: u32,
}

impl Dump {
    const FILE: &str = "jvm.json";

    /// The document, for the declaration of a stage.
    pub(crate) const DOCUMENT: Access = document(Self::FILE);

    /// The content, for the declaration of a stage that reads it.
    pub(crate) const CONTENT: Access = column(CONTENT).if_any();

    /// Loads the document.
    pub(crate) fn load(scratch: &Scratch) -> Result<Self, StageError> {
        scratch.read_document(Self::FILE)
    }

    /// Saves the document.
    pub(crate) fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(Self::FILE, self)
    }

    /// Refuses a content that changed since the first pass, after a second pass has read it to its end.
    pub(crate) fn same(&self, identity: Option<&Identity>) -> Result<(), StageError> {
        match (&self.hash, identity) {
            (Some(hash), Some(identity)) if *hash != identity.hash => Err(StageError::changed(&self.name)),
            _ => Ok(()),
        }
    }

    /// Returns an error of the dump at an offset.
    pub(crate) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        StageError::input(&self.name, offset, expected, found, HINT)
    }
}

/// An inconsistency of a dump that was skipped because damage is tolerated.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    offset: u64,
    expected: String,
    found: String,
}

impl Damage {
    /// Returns the inconsistency at an offset.
    ///
    /// # Errors
    /// [`StageError::Input`] unless damage is tolerated.
    pub(crate) fn tolerated(
        dump: &Dump,
        (offset, expected, found): (u64, impl Into<String>, impl Into<String>),
        job: &Job<'_>,
    ) -> Result<Self, StageError> {
        if !job.analysis().salvage {
            return Err(dump.error(offset, expected, found));
        }
        Ok(Self { offset, expected: expected.into(), found: found.into() })
    }

    /// Message about the data that the analysis leaves out.
    pub(crate) fn leaves_out(&self) -> String {
        let Self { offset, expected, found } = self;
        format!("what contradicts the rest, first at byte {offset}: expected {expected}, found {found}")
    }
}
