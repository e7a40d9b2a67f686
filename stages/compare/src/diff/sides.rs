//! The two sides of a comparison.

/// Index of the base, the reference side.
pub const BASE: usize = 0;
/// Index of the target, the side under test.
pub const TARGET: usize = 1;
