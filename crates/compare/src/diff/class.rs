//! Data that the tables of classes and chains exchange.

/// The chain through which a class grew most.
#[derive(Clone, Debug)]
pub(super) struct Through {
    /// Signature.
    pub signature: String,
    /// Chain as text.
    pub text: String,
    /// Growth in bytes.
    pub bytes: i64,
    /// Whether the base lacks the chain.
    pub new: bool,
}

/// A class in the base.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfClass {
    /// Retained bytes.
    pub retained: i64,
    /// Whether any base run has the class.
    pub in_base: bool,
}
