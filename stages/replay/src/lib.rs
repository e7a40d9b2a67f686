//! Traces of allocations and collections, replayed.
//!
//! A reader of one format ([`log`], [`nettrace`], [`heapprofile`], [`tracetree`]) hands [`events`] to [`replay`], which keeps [`types`], [`stacks`] and [`symbols`],
//! takes a sample ([`sampling`], [`spread`]), follows objects through collections ([`track`], [`collection`], [`tracks`]) and counts their
//! [`lifetimes`]. At the end [`calls`] makes call trees of the sampled stacks, and [`output`] writes rows. [`stage`] is all
//! of it.

pub mod calls;
pub mod collection;
pub mod events;
pub mod heapprofile;
pub mod json;
pub mod lifetimes;
pub mod log;
pub mod nettrace;
pub mod numbers;
pub mod output;
pub mod replay;
pub mod sampling;
pub mod spread;
pub mod stacks;
pub mod stage;
pub mod symbols;
pub mod tracetree;
pub mod track;
pub mod tracks;
pub mod types;

pub use heaplake_nettrace::blocks;
