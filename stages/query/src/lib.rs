//! Questions about a run that is in the lake, answered from its tables. An answer is a value that can be written as
//! JSON; what people read of it is the caller's.
//!
//! [`why`] says what keeps one object alive, [`top`] which objects retain most, [`tree`] what an object dominates,
//! [`object`] what objects contain, and [`track`] which object of a replayed trace was at an address. They read single
//! columns of the table of nodes front to back, and the rows that they show by themselves. Resident memory is at most
//! 4 bytes per node for dominators, and 9 more for a shortest path; for several paths and for all [`holders`] 25 per node
//! and 8 per essential edge, and for several paths 12 and 4 more.

mod asked;
mod error;
mod graph;
pub mod holders;
mod moves;
mod names;
pub mod object;
mod paths;
#[cfg(test)]
mod properties;
pub mod rows;
pub mod stored_paths;
pub mod top;
pub mod track;
pub mod tree;
pub mod why;

pub use asked::{Asked, Subject};
pub use error::QueryError;
