//! Dumps of Java heaps (`.hprof`): HotSpot, OpenJ9 and others that write this format, and Android's runtime.
//!
//! The stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`scan`] | the dump | names, classes, roots, stacks; address and place of every object |
//! | [`link`] | the dump again | classes, sizes and edges of all objects, essential edges, in-degrees, distance seeds, threads, [`containers`] |
//! | [`texts`] | contents of strings | names of nodes |
//! | [`equality`] | the dump once more | values and references by which duplicates are found |
//! | [`previews`] | objects in the dump | what the first members of sets of duplicates look like |
//!
//! All passes read records through [`records`]; [`index`](crate::index) leads from an address to an object. The numbers
//! are those of Eclipse MAT, object for object.

pub mod classes;
pub mod containers;
pub mod cursor;
pub mod equality;
pub mod keys;
pub mod kinds;
pub mod link;
pub mod names;
pub mod objects;
pub mod origins;
pub mod previews;
pub mod records;
pub mod roots;
pub mod sample;
pub mod scan;
pub mod sizes;
pub mod special;
pub mod spool;
pub mod stacks;
pub mod texts;
pub mod threads;
pub mod ways;

use crate::output::Wanted;
use heaplake_kit::{InputError, Scratch, StageError};
use heaplake_schemas::scratch::{Facts, documents};
use serde::{Deserialize, Serialize};
use sizes::Sizes;
use std::path::PathBuf;

/// What errors in a dump advise.
pub(crate) const HINT: &str =
    "the dump is damaged or incomplete: take it again, or give --salvage to analyse what can be read";

/// Nodes that no record of the dump stands for: the root, then the boot loader.
pub const ROOT: u32 = 0;
/// MAT's stand-in for the loader of the classes that have none, at address 0.
pub const BOOT_LOADER: u32 = 1;
/// The first node that a record stands for; the others follow in the order of the dump.
pub const FIRST: u32 = 2;
/// [`NODE_ID`](heaplake_schemas::scratch::NODE_ID) of the root, which no object can have.
pub const ROOT_ID: u64 = u64::MAX;

/// What the user can choose about dumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// Whether weak, soft and phantom references hold what they refer to.
    pub referents_hold: bool,
    /// Whether a damaged dump is analysed as far as it can be read.
    pub salvage: bool,
    /// Whether the table of nodes is written.
    pub nodes: bool,
    /// Whether the table of edges is written.
    pub edges: bool,
    /// Whether it is asked how essential edges are called.
    #[serde(default)]
    pub ways: bool,
}

impl Choices {
    /// The tables among them.
    #[must_use]
    pub fn wanted(self) -> Wanted {
        Wanted { nodes: self.nodes, edges: self.edges, ways: self.ways }
    }
}

/// A dump between its stages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dump {
    /// How messages call it.
    pub name: String,
    /// Where its content lies, decompressed.
    pub content: PathBuf,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// Bytes of an id.
    pub id_bytes: u8,
    /// Layout of the heap.
    pub sizes: Sizes,
    /// What addresses are multiples of, as a power of two.
    pub unit: u32,
    /// What the user chose.
    pub choices: Choices,
    /// What later stages get to know.
    pub facts: Facts,
}

const DOCUMENT: &str = "jvm.json";

impl Dump {
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

    /// An error of the dump at an offset.
    pub(crate) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.name.clone(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: HINT }.into()
    }
}
