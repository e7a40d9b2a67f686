//! Heaps that every format can tell: the same one as a V8 snapshot, a Java dump and a .NET walk.
//!
//! * [`Heap`]: objects with a class, numbers, references and texts, and what holds them; [`write`](mod@write) tells it
//!   in each format.
//! * [`random`]: heaps from a seed, with copies of their parts.
//! * [`mod@truth`]: what the tables must say of any of the three.
//!
//! What the formats cannot tell alike is not in here: a walk has no values, so it has no duplicates; a dump knows which
//! objects are garbage, while a snapshot and a walk are lists of what is alive, where the root holds what nothing else
//! refers to; names of texts differ; sizes are those that a Java dump implies, since it has no other.

mod model;
pub mod random;
pub mod truth;
pub mod write;

pub use model::{Class, Heap, Object, Root};
pub use truth::{Garbage, NodeTruth, truth};
pub use write::Told;
