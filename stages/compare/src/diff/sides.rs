//! The two sides of a comparison.

/// Number of the side that is compared with.
pub const BASE: usize = 0;
/// Number of the side that is compared.
pub const TARGET: usize = 1;
