//! Stage `walk`: one walk of a .NET heap out of the input.
//!
//! * Computes: the objects of the walk with their sizes, types, references and roots, by address, or for a dump by number
//!   of node; names, keys and kinds of the classes.
//! * Reads: the input, once, front to back.
//! * Writes: `node.id`, `dotnet.*`, for a trace the chunks of memory that hold objects ([`crate::index::CHUNKS`]),
//!   `class.{name,origin}`, class keys, `origin`, `origin.*`; the string table, with the names that these use.
//! * Resident memory: 18 bytes per 32 KiB of heap; some 200 bytes and its name for each type, as much for each module;
//!   the events between two sequence points of a trace; of a dump the descriptions of its nodes where the budget allows,
//!   paged where not.
//! * Passes over disk: one read of the input. Of several walks, each is written over the one before.
//!   The descriptions of a dump are written once and read at random.
//! * Worst case: linear.
//! * Fails when: the input is damaged, has no walk, not the one that is wanted, or not all of it.
//! * Determinism: one thread; the order of the walk.
//! * Reference: the events as the runtime defines them in its manifest, `ClrEtwAll.man`; PerfView makes heaps of the same.

use super::events::Walker;
use super::{Choices, Walk, gcdump};
use crate::output::Wanted;
use crate::source::{Feed, Source};
use heaplake_kit::{Context, InputError, Scratch, StageError, StageInfo, Stats};
use heaplake_nettrace::Bytes;
use heaplake_nettrace::blocks::HINT;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "walk",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 16 << 20,
    scratch_per_node: 24,
    scratch_per_edge: 8,
    passes: "input once",
};

/// Takes a walk out of an input, of which nothing was taken from `source`.
///
/// # Errors
/// [`StageError::Input`] with offset for everything wrong with the input; [`StageError::Io`] and
/// [`StageError::Budget`]; what `admission` returns for the number of nodes.
pub fn run(
    source: Source,
    choices: Choices,
    scratch: &Scratch,
    context: &Context<'_>,
    admission: crate::Admission<'_>,
) -> Result<Stats, StageError> {
    context.progress.begin(STAGE.name, 0);
    let name = source.name().to_owned();
    let mut feed = Feed::new(source, context);
    let mut bytes = Bytes::new(&mut feed);
    let mut walk = if bytes.peek()? == gcdump::MAGIC.first().copied() {
        gcdump::read(&name, &mut bytes, scratch, context)?
    } else {
        let mut walker = Walker::new(name, choices.walk, scratch, context)?;
        let outcome = heaplake_nettrace::read(&mut bytes, &mut walker, &context.budget)?;
        walker.finish(&outcome, bytes.offset())?
    };
    bytes.drain()?;
    let content_bytes = bytes.offset();
    let identity = feed.source.identity().cloned().unwrap_or_default();
    if identity.hash.is_empty() {
        let (expected, found) = ("the end of the input".to_owned(), "more".to_owned());
        return Err(InputError { file: walk.name, offset: content_bytes, expected, found, hint: HINT }.into());
    }
    walk.facts.content_bytes = content_bytes;
    (walk.facts.input_bytes, walk.facts.input_hash) = (identity.bytes, identity.hash);
    Wanted { nodes: walk.nodes, edges: walk.edges, ways: walk.ways } = choices.tables;
    admission(walk.facts.node_count)?;
    walk.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: walk.facts.node_count, spilled_bytes: 0 })
}

impl Walk {
    /// An error of the input at an offset.
    pub(super) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.name.clone(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: HINT }.into()
    }
}
