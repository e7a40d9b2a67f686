//! The two sides of a comparison.

/// Index of the base, the reference side.
pub(crate) const BASE: usize = 0;
/// Index of the target, the side under test.
pub(crate) const TARGET: usize = 1;
