//! Planted secrets and near misses: what a scanner for secrets must find, and what it must not.
//!
//! All texts are made up by a generator with a fixed seed, and put together from pieces, so that no source file has a
//! text that looks like a token.

pub mod heaps;
mod item;
pub mod judge;
mod misses;
mod random;
mod secrets;

pub use item::{Item, Place};
pub use misses::misses;
pub use secrets::secrets;
