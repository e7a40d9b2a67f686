//! Heaps that every format can express: the same one as a V8 snapshot, a Java dump and a .NET walk.
//!
//! * [`Heap`]: objects with a class, numbers, references and texts, and their roots; [`write`](mod@write) converts it to
//!   each format.
//! * [`random`]: heaps from a seed, with copies of their parts.
//! * [`mod@truth`]: the expected tables of all three.
//!
//! Excludes where the formats differ: a walk has no values, so it has no duplicates; a dump shows which objects are
//! garbage, while snapshots and walks list live objects only, and the root retains those without a retainer; names of
//! texts differ; sizes are those implied by a Java dump, since it has no others.

mod model;
pub mod random;
pub mod truth;
pub mod write;

pub use model::{Class, Heap, Object, Root};
pub use truth::{Garbage, NodeTruth, truth};
pub use write::Told;
