//! Queries on a run in the lake, answered from its tables. An answer is a value that can be serialised as JSON; the
//! caller renders it for people.
//!
//! [`why`] finds paths that keep an object alive, [`shortest`] one path to each of many, [`top`] the objects that retain most, [`tree`] and [`children`] the
//! objects that one dominates, [`object`] the contents of objects, [`references`] their references, [`what_if`] what would
//! be freed without some references, [`classes`], [`owners`] and [`findings`] those of a run, and [`track`] the object of
//! a replayed trace at an address. They scan single columns of the table of nodes, and read only the rows that they show.
//! Resident memory is 4 bytes per node for dominators, 4 more for [`top`], 17 more for a shortest path; for several paths
//! and for all [`holders`] 29 more per node and 8 per essential edge, and for several paths another 12 and 4; for
//! [`what_if`] 57 per node, 4 per essential edge and 24 per cut one.

mod asked;
pub mod children;
pub mod classes;
mod cut;
pub mod details;
pub mod duplicates;
mod edges;
mod error;
pub mod filter;
pub mod findings;
mod graph;
pub mod holders;
mod largest;
mod moves;
mod names;
pub mod object;
pub mod owners;
mod paths;
#[cfg(test)]
mod properties;
mod reach;
pub mod references;
pub mod rows;
pub mod shortest;
mod stored_paths;
pub mod top;
pub mod track;
pub mod tree;
pub mod what_if;
pub mod why;

pub use asked::{Asked, Subject};
pub use cut::Cut;
pub use error::QueryError;
