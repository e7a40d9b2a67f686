//! What a run holds of the texts of the heap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Texts of the heap in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Texts {
    /// As they are.
    #[default]
    Full,
    /// Letters that depend on a keyed digest: equal texts are equal.
    Hash,
    /// One letter, repeated: only lengths.
    None,
}

impl Texts {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Full, Self::Hash, Self::None];

    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Hash => "hash",
            Self::None => "none",
        }
    }

    /// The choice of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|texts| texts.name() == name)
    }

    /// Word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Hash => "hashed",
            Self::None => "absent",
        }
    }
}

/// The key of digests: two words that no file of a run holds. All are equal, so that a key makes no difference between
/// options; [`TextOptions::key`] does.
#[derive(Clone, Default)]
pub struct Secret(pub Option<Box<[u64; 2]>>);

impl PartialEq for Secret {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Secret {}

/// Hides the key from messages.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// The user's choice of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextOptions {
    /// Texts of the run.
    pub mode: Texts,
    /// Patterns of names that stay, although they look like data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Fingerprint of the key; absent if it was made for one run and forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// The key itself, in the process that reads the input.
    #[serde(skip)]
    pub secret: Secret,
}

impl TextOptions {
    /// Whether texts are as they are.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.mode == Texts::Full
    }
}
