//! The user's rules for names of classes, functions and fields (`--names`). They have no table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules of the user, in order. They apply before the rules of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameRules {
    /// The rules; each works on the result of the one before.
    pub rules: Vec<NameRule>,
}

/// One rule: every match of `pattern` becomes `replace`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameRule {
    /// A regular expression of the crate `regex`.
    pub pattern: String,
    /// Replacement of each match; `$1` or `${name}` is a group of it.
    pub replace: String,
    /// Runtime whose names the rule applies to (`v8`, `jvm` or `dotnet`); all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}
