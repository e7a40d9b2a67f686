//! V8's `.heapsnapshot` (Node, Electron, Chrome, ArkTS).
//!
//! The stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`read`] | the file | raw node, edge, string, trace, sample and location columns |
//! | [`intern`] | strings | equal strings have equal ids |
//! | [`detached`] | nodes, edges | which DOM nodes are attached or detached, and their names |
//! | [`holds`] | nodes, edges, page ownership ([`pages`]) | essential edges, edge flags, in-degrees, orphans, distance seeds |
//! | [`owners`] | nodes, edges | shallow sizes: owned parts counted with their owner |
//! | [`classes`] | nodes, edges, locations, [`interfaces`] | class of every node, class names and keys |
//! | [`scripts`] | nodes, edges, locations | scripts of functions and objects, and their packages |
//! | [`containers`] | nodes, edges | collections with their entries and spare bytes, entries of weak maps |
//!
//! The rules are those of Chrome DevTools' heap snapshot worker, and so are the numbers, node for node.

pub mod classes;
pub mod containers;
pub mod detached;
pub mod ephemerons;
pub mod equality;
pub mod header;
pub mod holds;
pub mod interfaces;
pub mod intern;
pub mod names;
pub mod owners;
pub mod pages;
pub mod previews;
pub mod read;
pub mod rows;
pub mod scripts;
pub mod trace;

use header::Header;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::scratch::{Facts, documents};
use serde::{Deserialize, Serialize};

/// What errors in a snapshot advise.
pub(crate) const HINT: &str = "the file is damaged or incomplete: write or copy the snapshot again";

/// Scratch files that stages of this folder append to. Cut back to the length that they had after the last finished
/// stage, they are as that stage left them.
pub const APPENDED: [&str; 4] = ["string.bytes", "string.start", "string.hash", "v8.tag_string"];

/// A V8 snapshot between its stages: what the file's header says, and what was learned since.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The file's own description of its fields.
    pub header: Header,
    /// What later stages get to know.
    pub facts: Facts,
}

const DOCUMENT: &str = "v8.json";

impl Snapshot {
    /// As the stage before left it.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(scratch: &Scratch) -> Result<Self, StageError> {
        scratch.read_document(DOCUMENT)
    }

    /// For the next stage, and the facts for those that know no format.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn save(&self, scratch: &Scratch) -> Result<(), StageError> {
        scratch.write_document(DOCUMENT, self)?;
        scratch.write_document(documents::FACTS, &self.facts)
    }
}
