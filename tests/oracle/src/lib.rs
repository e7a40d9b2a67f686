//! The oracle: expected results for the tests of heaplake's fast algorithms.
//!
//! Everything here is written to be *obviously* right and shares no code with the engine: dominators come from deleting
//! nodes one at a time, class rows from walking every node's dominators up to the root, owners from sweeping over all
//! edges until nothing changes. It suits snapshots of up to a few hundred nodes, the size of property tests.
//!
//! * [`model`]: a V8 heap snapshot in memory; [`json`] writes it as a file.
//! * [`mod@truth`]: Chrome DevTools' results for it, node for node and class for class.
//! * [`jvm`]: Java heap dumps, their files, and Eclipse MAT's results.
//! * [`dotnet`]: walks of .NET heaps, their traces, and the expected tables.
//! * [`plain`]: heaps that all three formats can express, to compare their results.
//! * [`duplicates`]: sets of duplicate instances, their cost and their nesting, pair by pair.
//! * [`graph`]: the same questions for plain directed graphs.
//! * [`random`]: adversarial snapshots from a seed; [`strategies`]: the same for `proptest`, so that failures shrink.
//!
//! ```
//! use heaplake_oracle::{Layout, Snapshot, truth};
//!
//! let mut snapshot = Snapshot::new();
//! let root = snapshot.add_node("synthetic", "", 0);
//! let list = snapshot.add_node("object", "List", 16);
//! let item = snapshot.add_node("object", "Item", 24);
//! snapshot.add_edge(root, "property", "list", list);
//! snapshot.add_edge(list, "property", "head", item);
//!
//! let truth = truth(&snapshot);
//! assert_eq!(truth.nodes[list].retained, 40);
//! assert_eq!(truth.nodes[item].dominator, list);
//! assert_eq!(truth.nodes[item].distance, Some(2));
//!
//! let file = snapshot.to_json(&Layout::default());
//! assert!(file.starts_with(b"{\"snapshot\":{\"meta\":"));
//! ```

#![expect(missing_docs, reason = "names say it where a comment would repeat them")]

pub mod dotnet;
pub mod duplicates;
pub mod graph;
mod json;
pub mod jvm;
pub mod model;
pub mod owners;
pub mod plain;
pub mod random;
pub mod retainer_trees;
pub mod rng;
pub mod strategies;
mod text;
pub mod truth;

pub use json::Layout;
pub use model::{Edge, Fields, Location, Node, Snapshot};
pub use random::Shape;
pub use rng::SplitMix64;
pub use text::OracleString;
pub use truth::{ClassRow, NodeTruth, Truth, truth};
