//! Facts of a .NET heap walk that the stages of this folder share.

use heaplake_input::bytes::HINT;
use heaplake_kit::access::{Access, document};
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::ids::{NO_ID, NodeId};
use heaplake_schemas::scratch::Metadata;
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
        StageError::input(&self.name, offset, expected, found, HINT)
    }
}

/// Returns what the reader of a walk knows of the heap.
pub(super) fn metadata(format: &str, version: String, node_count: u64, root: u32) -> Metadata {
    Metadata {
        format: format.to_owned(),
        format_version: Some(version),
        node_count,
        root: NodeId(root),
        lists_survivors: true,
        counts_empty: true,
        follows_essential: true,
        ..Metadata::default()
    }
}

/// The walks of an input, of which one is read: that with the wanted number, or the last.
pub(super) struct Walks {
    /// Kind of input, for messages.
    pub input: &'static str,
    /// Advice for an input without walks.
    pub record: &'static str,
    /// Number of the wanted walk.
    pub wanted: Option<u32>,
    /// Walks so far.
    pub count: u32,
}

impl Walks {
    /// Whether a walk is to be read, unless a later one replaces it.
    pub(super) fn wants(&self, number: u32) -> bool {
        self.wanted.is_none_or(|wanted| wanted == number)
    }

    /// Number of the walk to read, as far as known.
    pub(super) fn read(&self) -> u32 {
        self.wanted.unwrap_or(self.count)
    }

    /// Returns the error of an input without the wanted walk, which ends at an offset.
    pub(super) fn missing(&self, name: &str, end: u64) -> StageError {
        const CHOOSE: &str = "give another number to --walk, or last";
        let Self { input, record, wanted, count } = self;
        if *count == 0 {
            return StageError::input(name, end, format!("a walk of the heap in the {input}"), "none", record);
        }
        let expected = format!("walk {} of the heap", wanted.unwrap_or_default());
        StageError::input(name, end, expected, format!("{count} in the {input}"), CHOOSE)
    }

    /// Returns the remarks on the walk with a number, in an input with `undefined` types without a definition.
    pub(super) fn remarks(&self, number: u32, undefined: u64) -> impl Iterator<Item = String> {
        let Self { input, count, .. } = self;
        let walks = (*count > 1).then(|| format!("the {input} has {count} walks of the heap; this is number {number}"));
        let types = (undefined > 0).then(|| format!("the {input} does not say what {undefined} of its types are"));
        walks.into_iter().chain(types)
    }
}
