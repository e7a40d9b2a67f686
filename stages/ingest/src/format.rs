//! The interface of an input format.

use heaplake_input::source::Opened;
use heaplake_kit::stage::Handover;
use heaplake_kit::{Context, Stage, StageError};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::scratch::Metadata;

/// Size of a heap as estimated before the input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Nodes.
    pub nodes: u64,
    /// Upper bound of the number of edges.
    pub edges: u64,
    /// Whether the input states these numbers; otherwise they are extrapolated from its beginning.
    pub exact: bool,
}

/// An input format: how to recognise it, and the stages that turn it into neutral columns.
pub trait Format: Sync {
    /// Display name.
    fn name(&self) -> &'static str;

    /// Whether a content with this beginning is of this format.
    fn recognises(&self, beginning: &[u8]) -> bool;

    /// File name extensions, each with its dot, by which a search through a folder finds inputs.
    fn endings(&self) -> &'static [&'static str];

    /// Whether distances follow only essential edges, so that no stage needs the columns of all edges for them.
    fn follows_essential(&self) -> bool;

    /// Whether its reader can mask the texts of the heap.
    fn masks_texts(&self) -> bool {
        false
    }

    /// The stages, the reader first, in an order in which one thread can run them.
    fn stages(&self) -> &'static [&'static Stage];

    /// Estimates the size of the heap from as small a part of the input as possible.
    fn estimate(&self, opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError>;

    /// Default name of a run, from the stem of the input's name.
    fn run_name(&self, stem: &str, metadata: &Metadata, _options: &AnalysisOptions) -> String {
        default_name(stem, metadata)
    }
}

/// Returns the stem of the input's name with the first 8 digits of its hash.
pub(crate) fn default_name(stem: &str, metadata: &Metadata) -> String {
    format!("{stem}-{}", metadata.input_hash.get(..8).unwrap_or(&metadata.input_hash))
}

/// Takes the opened input for a reader; an I/O error if the stage received none.
pub(crate) fn opened(input: &Handover) -> Result<Opened, StageError> {
    let missing = || StageError::io("input".as_ref(), "open", std::io::Error::other("the stage was given no input"));
    input.take::<Opened>().ok_or_else(missing)
}
