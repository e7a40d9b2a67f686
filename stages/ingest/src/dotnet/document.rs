//! Facts of a .NET heap walk that the stages of this folder share.

use heaplake_input::bytes::HINT;
use heaplake_kit::access::{Access, document};
use heaplake_kit::{InputError, Scratch, StageError};
use heaplake_schemas::ids::NO_ID;
use serde::{Deserialize, Serialize};

/// The root, which is no object of a walk in a trace.
pub(crate) const ROOT: u32 = 0;
/// The first object of a walk in a trace; the others follow in the order of the walk.
pub(crate) const FIRST: u32 = 1;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root; no object has it.
pub(crate) const ROOT_ID: u64 = NO_ID;

/// Format name of walks in traces, for the metadata.
pub(crate) const TRACE: &str = "dotnet-nettrace";

/// Format name of walks in profiler logs, for the metadata.
pub(crate) const LOG: &str = "profiler-log-walk";

/// Format name of dumps, for the metadata.
pub(crate) const DUMP: &str = "dotnet-gcdump";

/// Facts of a walk that one stage of this folder passes to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Walk {
    /// Name of the input in messages.
    pub name: String,
    /// Offset of the walk in its content.
    pub offset: u64,
    /// log2 of the alignment of addresses.
    pub unit: u32,
    /// Whether references are addresses and the root is not among the objects; otherwise both are node numbers.
    pub by_address: bool,
    /// Number of classes, including the root's.
    pub class_count: u64,
    /// The reader's remarks on the input, a sentence each.
    pub remarks: Vec<String>,
}

impl Walk {
    const FILE: &str = "dotnet.json";

    /// The document, for the declaration of a stage.
    pub(crate) const DOCUMENT: Access = document(Self::FILE);

    /// Loads the document.
    pub(crate) fn load(scratch: &Scratch) -> Result<Self, StageError> {
        scratch.read_document(Self::FILE)
    }

    /// Saves the document.
    pub(crate) fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(Self::FILE, self)
    }

    /// Returns an error of the input at an offset.
    pub(super) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.name.clone(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: HINT }.into()
    }
}
