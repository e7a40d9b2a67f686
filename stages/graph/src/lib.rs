//! The graph of essential edges: preorder, retainers, dominators, retained sizes, distances, shortest paths.
//!
//! One file is one stage. Together they turn `essential.*` (the edges that keep their target alive) into the dominator
//! tree and what it weighs; [`distances`] works on all edges. None of them knows a format.
//!
//! ```text
//! essential.* ─ preorder ─▶ preorder.* ─ retainers ─▶ retainers.* ─ dominators ─▶ preorder.dominator ─ retained ─▶ node.*
//! edge.*      ─ distances ─▶ node.distance ─ shortest paths ─▶ path.*
//! ```

pub mod distances;
pub mod dominators;
pub mod preorder;
pub mod retained;
pub mod retainers;
pub mod shortest_paths;

#[cfg(test)]
mod properties;
