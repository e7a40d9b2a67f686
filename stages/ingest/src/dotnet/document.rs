//! A walk between the stages of this folder.

use heaplake_input::bytes::HINT;
use heaplake_kit::access::{Access, document};
use heaplake_kit::{InputError, Scratch, StageError};
use heaplake_schemas::ids::NO_ID;
use serde::{Deserialize, Serialize};

/// The root, which is not an object of a walk in a trace.
pub const ROOT: u32 = 0;
/// The first object of a walk in a trace; the others follow in the order of the walk.
pub const FIRST: u32 = 1;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root, which no object can have.
pub const ROOT_ID: u64 = NO_ID;

/// Name of the format of walks in traces, in facts.
pub const TRACE: &str = "dotnet-nettrace";

/// Name of the format of walks in profiler logs, in facts.
pub const LOG: &str = "profiler-log-walk";

/// Name of the format of dumps, in facts.
pub const DUMP: &str = "dotnet-gcdump";

/// What one stage of this folder learns of a walk and the next one needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Walk {
    /// How messages call the input.
    pub name: String,
    /// Where the walk begins in its content.
    pub offset: u64,
    /// What addresses are multiples of, as a power of two.
    pub unit: u32,
    /// Whether references are addresses, and the root is not among the objects; otherwise both are numbers of nodes.
    pub by_address: bool,
    /// Number of classes, that of the root included.
    pub class_count: u64,
    /// What the reader has to say of the input, a sentence each.
    pub remarks: Vec<String>,
}

impl Walk {
    const FILE: &str = "dotnet.json";

    /// The document itself, for the declaration of a stage.
    pub const DOCUMENT: Access = document(Self::FILE);

    /// Reads what the stage before wrote.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(scratch: &Scratch) -> Result<Self, StageError> {
        scratch.read_document(Self::FILE)
    }

    /// Writes it for the stage that follows.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(Self::FILE, self)
    }

    /// An error of the input at an offset.
    pub(super) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.name.clone(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: HINT }.into()
    }
}
