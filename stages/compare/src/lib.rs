//! Comparison of runs, from their tables alone: what grew between two sides, by how much, and whether it is real.

pub mod gates;
