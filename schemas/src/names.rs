//! Rules of the user for the names of classes, functions and fields: what `--names` holds. There is no table of them.

use serde::{Deserialize, Serialize};

/// Rules of the user, in their order. They apply before the rules of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRules {
    /// The rules: each works on what the one before it left.
    pub rules: Vec<NameRule>,
}

/// One rule: each place where `pattern` fits becomes `replace`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRule {
    /// A regular expression, as the crate `regex` reads it.
    pub pattern: String,
    /// What becomes of each place where the pattern fits; `$1` or `${name}` stands for a group of it.
    pub replace: String,
    /// The runtime to whose names the rule applies (`v8`, `jvm` or `dotnet`); all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}
