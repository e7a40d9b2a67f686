//! Summaries of the numbers per node: classes, the chains to the big ones, the largest objects, and findings; of
//! replayed traces, findings.

pub mod allocations;
pub mod big;
mod call_functions;
mod call_originals;
#[cfg(test)]
mod call_properties;
pub mod call_tree;
pub mod chains;
pub mod class_rows;
mod dominator_tree;
#[cfg(test)]
#[path = "../../../tests/support/fast_folder.rs"]
mod fast_folder;
pub mod findings;
mod fold;
pub mod largest;
pub mod live_allocations;
mod nodes;
pub mod original_places;
pub mod outermost;
pub mod owners;
pub mod possible_classes;
pub mod retainer_trees;
mod trie;
