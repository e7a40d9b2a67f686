//! What chains say of a class, and what classes say to chains.

/// The chain through which a class grew most.
#[derive(Clone, Debug)]
pub struct Through {
    /// Its signature.
    pub signature: String,
    /// Its text.
    pub text: String,
    /// What it grew, bytes.
    pub bytes: i64,
    /// Whether the base does not have it.
    pub new: bool,
}

/// What the base says of a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfClass {
    /// Its retained bytes.
    pub retained: i64,
    /// Whether a run of the base has it.
    pub in_base: bool,
}
