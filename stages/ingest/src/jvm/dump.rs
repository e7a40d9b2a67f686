//! A dump of a Java heap between the stages of this folder.

use super::sizes::Sizes;
use heaplake_input::source::Identity;
use heaplake_kit::access::{Access, column, document};
use heaplake_kit::{InputError, Job, Scratch, StageError};
use heaplake_schemas::ids::NO_ID;
use heaplake_schemas::scratch::Column;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// What errors in a dump advise.
pub(crate) const HINT: &str =
    "the dump is damaged or incomplete: take it again, or give --salvage to analyse what can be read";

/// Nodes without a record in the dump: the root, then the boot loader.
pub const ROOT: u32 = 0;
/// The boot loader, which loads the classes without a loader; at address 0, as in MAT.
pub const BOOT_LOADER: u32 = 1;
/// The first node with a record; the others follow in the order of the dump.
pub const FIRST: u32 = 2;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root, which no object can have.
pub const ROOT_ID: u64 = NO_ID;

/// Nodes with records come after the two without.
const _: () = assert!(FIRST == BOOT_LOADER + 1);

/// Content that was decompressed, or came from standard input. Other contents are read where they are.
pub const CONTENT: Column<u8> = Column::new("jvm.content");

/// What the stages know of the dump.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dump {
    /// How messages call it.
    pub name: String,
    /// Where its content lies, decompressed.
    pub content: PathBuf,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// The hash of the content, where it lies in a file of the user, who may change it.
    pub hash: Option<String>,
    /// Bytes of an id.
    pub id_bytes: u8,
    /// Where its heap records begin: those of one heap, where the file has several.
    pub heap: Range<u64>,
    /// Layout of the heap.
    pub sizes: Sizes,
    /// What addresses are multiples of, as a power of two.
    pub unit: u32,
}

impl Dump {
    const FILE: &str = "jvm.json";

    /// The document itself, for the declaration of a stage.
    pub const DOCUMENT: Access = document(Self::FILE);

    /// The content, for the declaration of a stage that reads it.
    pub const CONTENT: Access = column(CONTENT).if_any();

    /// Reads what the stage before wrote.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(scratch: &Scratch) -> Result<Self, StageError> {
        scratch.read_document(Self::FILE)
    }

    /// Writes it for the stages that follow.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(Self::FILE, self)
    }

    /// Refuses a content that was read to its end once more and is not what it was.
    ///
    /// # Errors
    /// [`StageError::Refused`].
    pub(crate) fn same(&self, identity: Option<&Identity>) -> Result<(), StageError> {
        match (&self.hash, identity) {
            (Some(hash), Some(identity)) if *hash != identity.hash => Err(StageError::changed(&self.name)),
            _ => Ok(()),
        }
    }

    /// An error of the dump at an offset.
    pub(crate) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.name.clone(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: HINT }.into()
    }
}

/// Something in a dump that contradicts the rest of it, and that was passed over because damage is tolerated.
#[derive(Clone, Debug)]
pub struct Damage {
    offset: u64,
    expected: String,
    found: String,
}

impl Damage {
    /// What is wrong at an offset: what was expected there and what was found.
    ///
    /// # Errors
    /// [`StageError::Input`] where damage is not tolerated.
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

    /// What the analysis leaves out.
    #[must_use]
    pub fn leaves_out(&self) -> String {
        let Self { offset, expected, found } = self;
        format!("what contradicts the rest, first at byte {offset}: expected {expected}, found {found}")
    }
}
