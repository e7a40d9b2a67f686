//! Paths from the root to objects: chains as text, and merged retainer trees.

pub mod chains;
pub mod retainer_tree;
