//! Walks of .NET heaps: as the runtime reports them to a trace (`.nettrace`), or as a tool has put them down (`.gcdump`).
//!
//! The stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`walk`] | the input | objects, references and roots of one walk by address; names and keys of classes |
//! | [`join`] | these | classes, sizes and edges of all objects, essential edges, in-degrees, orphans, distance seeds |
//!
//! [`events`] reads the events of a trace, [`gcdump`] a dump; [`recorder`] keeps a walk, whose types [`types`] gives names
//! to.
//!
//! A walk follows a full collection, so all objects in it are alive. It has no fields and no values: references have no
//! names, and nothing can be said of duplicates.

pub mod census;
pub mod events;
pub mod gcdump;
pub mod join;
pub mod recorder;
pub mod types;
pub mod walk;

use crate::output::Wanted;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::scratch::{Facts, documents};
use serde::{Deserialize, Serialize};

/// The root, which no object of the walk stands for.
pub const ROOT: u32 = 0;
/// The first object; the others follow in the order of the walk.
pub const FIRST: u32 = 1;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root, which no object can have.
pub const ROOT_ID: u64 = u64::MAX;

/// Name of the format of walks in traces, in facts.
pub const TRACE: &str = "dotnet-nettrace";

/// Name of the format of dumps, in facts.
pub const DUMP: &str = "dotnet-gcdump";

/// Whether a content that begins so is of these formats.
#[must_use]
pub fn recognises(beginning: &[u8]) -> bool {
    beginning.starts_with(heaplake_nettrace::MAGIC) || beginning.starts_with(gcdump::MAGIC)
}

/// What the user can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Which of the walks of a trace, counted from 1; nothing for the last.
    pub walk: Option<u32>,
    /// The tables.
    pub tables: Wanted,
}

/// A walk between its stages.
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
    /// Whether the table of nodes is wanted.
    pub nodes: bool,
    /// Whether the table of edges is wanted.
    pub edges: bool,
    /// Whether it is asked how essential edges are called.
    pub ways: bool,
    /// What later stages get to know.
    pub facts: Facts,
}

const DOCUMENT: &str = "dotnet.json";

impl Walk {
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
