//! V8's `.heapsnapshot` (Node, Electron, Chrome, ArkTS).
//!
//! [`run`] takes an input through the stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`read`] | the file | raw node, edge, string, trace, sample and location columns |
//! | [`intern`] | strings | equal strings have equal ids |
//! | [`detached`] | nodes, edges | which DOM nodes are attached or detached, and their names |
//! | [`holds`] | nodes, edges, page ownership ([`pages`]) | holding edges, edge flags, in-degrees, orphans, distance seeds |
//! | [`owners`] | nodes, edges | shallow sizes: owned parts counted with their owner |
//! | [`classes`] | nodes, edges, locations, [`interfaces`] | class of every node, class names and keys |
//!
//! The rules are those of Chrome DevTools' heap snapshot worker, and so are the numbers, node for node.

pub mod classes;
pub mod detached;
pub mod ephemerons;
pub mod header;
pub mod holds;
pub mod interfaces;
pub mod intern;
pub mod names;
pub mod owners;
pub mod pages;
pub mod read;
pub mod rows;
pub mod trace;

use crate::source::Input;
use header::Header;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::scratch::{Facts, documents};

/// What errors in a snapshot advise.
pub(crate) const HINT: &str = "the file is damaged or incomplete: write or copy the snapshot again";

/// A V8 snapshot between its stages: what the file's header says, and what was learned since.
#[derive(Debug)]
pub struct Snapshot {
    /// The file's own description of its fields.
    pub header: Header,
    /// What later stages get to know.
    pub facts: Facts,
}

/// Asks whether an input of so many nodes may be taken on; called once, before the bulk of it is read.
pub type Admission<'a> = &'a dyn Fn(u64) -> Result<(), StageError>;

/// Runs after each stage of ingest.
pub type Finished<'a> = &'a mut dyn FnMut(&'static StageInfo, Stats);

/// The stages of this folder.
pub const STAGES: [&StageInfo; 6] =
    [&read::STAGE, &intern::STAGE, &detached::STAGE, &holds::STAGE, &owners::STAGE, &classes::STAGE];

/// Reads a snapshot into neutral columns and facts in `scratch`.
///
/// # Errors
/// [`StageError::Input`] for a damaged file, and what the stages return.
pub fn run(
    input: &Input,
    scratch: &Scratch,
    context: &Context<'_>,
    admission: Admission<'_>,
    finished: Finished<'_>,
) -> Result<Facts, StageError> {
    let (mut snapshot, stats) = read::run(input, scratch, context, admission)?;
    finished(&read::STAGE, stats);
    finished(&intern::STAGE, intern::run(&snapshot.header.edge_types, scratch, context)?);
    finished(&detached::STAGE, detached::run(&snapshot, scratch, context)?);
    finished(&holds::STAGE, holds::run(&mut snapshot, scratch, context)?);
    finished(&owners::STAGE, owners::run(&snapshot, scratch, context)?);
    finished(&classes::STAGE, classes::run(&mut snapshot, scratch, context)?);
    scratch.write_document(documents::FACTS, &snapshot.facts)?;
    Ok(snapshot.facts)
}
