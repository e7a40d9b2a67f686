//! From numbers per node to what people look at first: classes, the chains that lead to the big ones, and the largest
//! objects; of replayed traces, what is worth a look.

pub mod allocations;
pub mod big;
pub mod chains;
pub mod classes;
pub mod findings;
mod fold;
pub mod largest;
pub mod nodes;
pub mod owners;
mod trie;
