//! What a format of inputs says about itself.

use heaplake_input::source::Opened;
use heaplake_kit::stage::Handover;
use heaplake_kit::{Context, Stage, StageError};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::scratch::Facts;

/// How large a heap is, as far as it is known before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Nodes.
    pub nodes: u64,
    /// Edges, at most.
    pub edges: u64,
    /// Whether the input states these numbers; otherwise they are extrapolated from its beginning.
    pub exact: bool,
}

/// A format of inputs: how to recognise it, and the stages that turn it into neutral columns.
pub trait Format: Sync {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// Whether a content that begins so is of this format.
    fn recognises(&self, beginning: &[u8]) -> bool;

    /// Endings of names of files that a search through a folder takes for inputs, each with its dot.
    fn endings(&self) -> &'static [&'static str];

    /// Whether distances follow only essential edges, so that no stage needs columns of all edges for them.
    fn follows_essential(&self) -> bool;

    /// The stages, the reader first, in an order in which one thread can run them.
    fn stages(&self) -> &'static [&'static Stage];

    /// How large the heap is, from as little of the input as tells it.
    ///
    /// # Errors
    /// [`StageError::Input`] where what is read of it is damaged; [`StageError::Io`], [`StageError::Budget`].
    fn estimate(&self, opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError>;

    /// Name of a run that the user gave none, from the stem of the input's name.
    fn run_name(&self, stem: &str, facts: &Facts, _options: &AnalysisOptions) -> String {
        default_name(stem, facts)
    }
}

/// The stem of the input's name and the beginning of its hash.
#[must_use]
pub fn default_name(stem: &str, facts: &Facts) -> String {
    format!("{stem}-{}", facts.input_hash.get(..8).unwrap_or(&facts.input_hash))
}

/// Takes the opened input for a reader.
///
/// # Errors
/// [`StageError::Io`] when it was given none.
pub(crate) fn opened(input: &Handover) -> Result<Opened, StageError> {
    let missing = || StageError::io("input".as_ref(), "open", std::io::Error::other("the stage was given no input"));
    input.take::<Opened>().ok_or_else(missing)
}
