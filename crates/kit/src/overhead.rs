//! Memory that a run uses outside its [`Budget`](crate::Budget).

/// Upper bound of the fixed buffers of one run outside the budget, bytes.
pub const FIXED_OVERHEAD: u64 = 24 << 20;
