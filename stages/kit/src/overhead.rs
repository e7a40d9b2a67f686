//! What a run takes beside its [`Budget`](crate::Budget).

/// Fixed buffers of one run outside the budget, bytes, at most.
pub const FIXED_OVERHEAD: u64 = 24 << 20;
