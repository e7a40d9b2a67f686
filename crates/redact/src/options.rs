//! The choices of a redaction.

use crate::key::Key;

/// Mask of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Texts {
    /// Letters that depend on a keyed digest: equal texts stay equal.
    #[default]
    Hash,
    /// One fixed letter: only lengths stay.
    None,
}

impl Texts {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Hash, Self::None];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::None => "none",
        }
    }
}

/// Whether data of a kind is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Masked.
    #[default]
    Mask,
    /// Kept.
    Keep,
}

impl Choice {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Mask, Self::Keep];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::Keep => "keep",
        }
    }
}

/// The choices of a redaction.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Mask of texts, and of numbers.
    pub texts: Texts,
    /// Numbers of Java: fields, statics, boxed values, arrays of other types than `byte` and `char`.
    pub numbers: Choice,
    /// Names of Java's threads.
    pub thread_names: Choice,
    /// The key of digests.
    pub key: Key,
}
