//! V8's `.heapsnapshot` (Node, Electron, Chrome, ArkTS).
//!
//! The stages of this folder:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`read`] | the file | raw node, edge, string, trace, sample and location columns |
//! | [`intern`] | strings | one id per distinct string |
//! | [`detached`] | nodes, edges | attached and detached DOM nodes, and their names |
//! | [`essential_edges`] | nodes, edges, [`pages`] | essential edges, edge flags, orphans, distance seeds |
//! | [`retainer_counts`] | edges | in-degrees |
//! | [`containers`] | nodes, edges | containers with their entries and spare bytes, entries of weak maps |
//! | [`resources`] | nodes, edges, locations, containers | timers, listeners, promises, realms, [`variables`] |
//! | [`equality`] | nodes, edges | values and references from which duplicates are found |
//! | [`shallow_sizes`] | nodes, edges | shallow sizes: owned parts counted with their owner |
//! | [`node_classes`] | nodes, edges, locations, [`interfaces`] | class of every node, class names and keys |
//! | [`timeline`] | node ids, trace tree, samples | stack and interval of each node's allocation |
//! | [`scripts`] | nodes, edges, locations | scripts of functions and objects, and their packages |
//! | [`previews`] | sets of duplicates, nodes, edges | previews of the first members of the sets |
//!
//! [`read`] passes rows of numbers to [`node_rows`], [`edge_rows`], [`locations`] and [`trace`], and the string table
//! to [`strings`], through [`masked`] for a run without texts. [`salvage`] and [`repair`] handle damaged files. [`value_rules`], [`survey`] and [`shown`] tell
//! [`equality`] which parts of a value a snapshot has, and which it omits.
//!
//! The rules are those of Chrome DevTools' heap snapshot worker, and so are the numbers, node for node.

pub mod containers;
pub mod detached;
pub mod edge_blocks;
pub mod edge_rows;
pub mod edge_rules;
pub mod edges;
pub mod ephemerons;
mod equal_blocks;
mod equal_in_memory;
mod equal_nodes;
mod equal_on_disk;
pub mod equality;
pub mod essential_edges;
mod first_nodes;
mod graph;
pub mod header;
pub mod interfaces;
pub mod intern;
mod kinds;
mod labels;
pub mod locations;
mod masked;
mod meanings;
pub mod names;
pub mod node_classes;
pub mod node_rows;
pub mod pages;
mod paired_names;
pub mod parts;
pub mod previews;
mod promises;
pub mod read;
mod realm_holders;
pub mod repair;
pub mod resources;
pub mod retainer_counts;
pub mod roles;
pub mod root_edges;
pub mod rows;
pub mod salvage;
pub mod scripts;
pub mod shallow_sizes;
pub mod shown;
pub mod slots;
pub mod snapshot;
pub mod strings;
pub mod survey;
pub mod timeline;
pub mod trace;
pub mod value_rules;
pub mod values;
mod variables;
pub mod weak_entries;

use crate::format::{Estimate, Format};
use heaplake_input::source::Opened;
use heaplake_kit::{Context, Stage, StageError};

/// The format.
pub struct V8;

impl Format for V8 {
    fn name(&self) -> &'static str {
        "V8 heap snapshot"
    }

    /// Everything: the reader reports the errors of other contents.
    fn recognises(&self, _beginning: &[u8]) -> bool {
        true
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".heapsnapshot", ".heaptimeline"]
    }

    fn follows_essential(&self) -> bool {
        false
    }

    fn masks_texts(&self) -> bool {
        true
    }

    /// Stages that only look up strings precede those that add some, so that neither waits for the other.
    fn stages(&self) -> &'static [&'static Stage] {
        &[
            &read::STAGE,
            &intern::STAGE,
            &timeline::STAGE,
            &detached::STAGE,
            &essential_edges::STAGE,
            &retainer_counts::STAGE,
            &containers::STAGE,
            &resources::STAGE,
            &equality::STAGE,
            &shallow_sizes::STAGE,
            &node_classes::STAGE,
            &scripts::STAGE,
            &previews::STAGE,
            &values::STAGE,
        ]
    }

    fn estimate(&self, opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError> {
        let (nodes, edges) = read::peek(opened.source, context)?;
        Ok(Estimate { nodes, edges, exact: true })
    }
}
