//! Summaries of the numbers per node: classes, the chains to the big ones, the largest objects, and findings; of
//! replayed traces, findings.

pub mod allocations;
pub mod big;
pub mod chains;
pub mod class_rows;
pub mod findings;
mod fold;
pub mod largest;
mod nodes;
pub mod owners;
pub mod retainer_trees;
mod trie;
