//! Compares runs by their tables alone: what grew between two sides, by how much, and whether the growth is real.

mod amounts;
mod columns;
pub mod diff;
pub mod error;
#[cfg(test)]
#[path = "../../../tests/support/fast_folder.rs"]
mod fast_folder;
pub mod gates;
pub mod objects;
mod ranked;
pub mod rollup;
mod rows;
mod run_metadata;
mod scripts;
pub mod sides;
pub mod statistics;
pub mod trend;

pub use rows::Rules;
