//! Heap snapshots of any size with answers known by construction.
//!
//! A benchmark that only measures time does not show that the work was done. The generated files contain planted
//! structures (lists, trees, rings, documents, maps, closures, duplicates and more); their retained sizes, dominators,
//! distances, class rows and sets of duplicates follow from the construction by formula. So results can be checked on
//! files that no reference tool can open.
//!
//! The sections of a `.heapsnapshot` follow one another (nodes, edges, locations, strings), and the file may be far
//! bigger than memory. Therefore the graph is a formula: a [`plan::Plan`] is a sequence of shards, a shard is a
//! sequence of [`blocks`], and a block's content follows from the seed and the block's location. Each section takes one
//! pass over the plan ([`file::write`]); the answers take one more ([`file::answers`]).
//!
//! ```
//! use heaplake_generator::file;
//! use heaplake_generator::plan::{Shape, Target};
//!
//! let plan = file::plan(7, Shape::Realistic, Target::Bytes(1_000_000));
//! let mut bytes = Vec::new();
//! file::write(&plan, &mut bytes).unwrap();
//! assert!(bytes.starts_with(b"{\"snapshot\":"));
//! let answers = file::answers(&plan);
//! let root = answers.checkpoints()[0];
//! assert_eq!(root.retained, answers.total_bytes());
//! ```

#![expect(missing_docs, reason = "names say it where a comment would repeat them")]

mod answers;
mod blocks;
pub mod file;
pub mod header;
mod hprof;
pub mod names;
pub mod plan;
pub mod rng;
mod section;
pub mod shapes;
mod shared;
mod sink;
mod strings;
pub mod trace;
pub mod trace_shapes;
mod write;
