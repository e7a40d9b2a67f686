//! The graph of essential edges: preorder, retainers, dominators, retained sizes, distances, shortest paths.
//!
//! Each file is one stage. Together they turn `essential.*` (the edges that keep their target alive) into the
//! dominator tree and the retained sizes; [`distances`] works on all edges. No stage depends on a format.
//!
//! ```text
//! essential.* ─ preorder ─▶ preorder.* ─ retainers ─▶ retainers.* ─ dominators ─▶ preorder.dominator ─ retained ─▶ node.*
//! edge.*      ─ distances ─▶ node.distance ─ shortest paths ─▶ path.*
//! ```

pub mod distances;
pub mod dominators;
#[cfg(test)]
#[path = "../../../tests/support/fast_folder.rs"]
mod fast_folder;
mod forest;
mod level;
mod path_edges;
mod path_keys;
mod path_ties;
pub mod preorder;
pub mod retained;
pub mod retainers;
pub mod shortest_paths;
mod special_edges;
mod spilled_search;
mod transpose;
mod wide_level;

#[cfg(test)]
mod properties;
