//! Table `findings`: what is worth a look, the most severe first, then by `bytes` descending.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "findings.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `finding` | number of the row, 0-based |
/// | `rule` | what was looked for, a stable name |
/// | `severity` | `high`, `medium` or `low` |
/// | `scope` | what the finding is about: `snapshot`, `class`, `set` or `node`; of a replayed trace `trace`, `type` or `function` |
/// | `subject` | its name |
/// | `class_id`, `set`, `node` | where it is in the other tables; null where it is in none |
/// | `type_id`, `function_id` | the same in the tables of a replayed trace |
/// | `count` | objects that the finding speaks of |
/// | `bytes` | bytes that it speaks of: what would go, or what is wasted, as the message says |
/// | `message` | what was found, with its evidence |
/// | `next_step` | what to do |
#[must_use]
pub fn schema() -> SchemaRef {
    let required = |name, data_type| Field::new(name, data_type, false);
    let optional = |name, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![
        required("finding", DataType::UInt32),
        required("rule", DataType::Utf8),
        required("severity", DataType::Utf8),
        required("scope", DataType::Utf8),
        required("subject", DataType::Utf8),
        optional("class_id", DataType::UInt32),
        optional("set", DataType::UInt32),
        optional("node", DataType::UInt32),
        optional("type_id", DataType::UInt32),
        optional("function_id", DataType::UInt32),
        required("count", DataType::UInt64),
        required("bytes", DataType::UInt64),
        required("message", DataType::Utf8),
        required("next_step", DataType::Utf8),
    ]))
}

/// How much a finding matters. The greatest is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It holds much of the heap and looks like a mistake.
    High,
    /// Worth a look.
    Medium,
    /// Worth knowing.
    Low,
}

impl Severity {
    /// Name, as in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The whole snapshot.
    Snapshot,
    /// A class.
    Class,
    /// A set of duplicates.
    Set,
    /// An object.
    Node,
    /// A whole trace.
    Trace,
    /// A type that is allocated.
    Type,
    /// A function that allocates.
    Function,
}

impl Scope {
    /// Name, as in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Class => "class",
            Self::Set => "set",
            Self::Node => "node",
            Self::Trace => "trace",
            Self::Type => "type",
            Self::Function => "function",
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked for.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub scope: Scope,
    /// The name of that.
    pub subject: String,
    /// Its class.
    pub class_id: Option<u32>,
    /// Its set of duplicates.
    pub set: Option<u32>,
    /// The node, or one for example.
    pub node: Option<u32>,
    /// The type, in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_id: Option<u32>,
    /// The function, in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_id: Option<u32>,
    /// Objects that it speaks of.
    pub count: u64,
    /// Bytes that it speaks of.
    pub bytes: u64,
    /// What was found.
    pub message: String,
    /// What to do.
    pub next_step: String,
}
