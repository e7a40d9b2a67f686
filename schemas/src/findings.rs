//! Table `findings`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "findings",
    file: "findings.parquet",
    row: "finding: something in the run that is worth a look",
    order: "`severity` (`high` first), then `bytes` descending",
    runs: Runs::Both,
    condition: None,
    notes: &[],
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("finding", Type::UInt32, "Number of the row, from 0"),
    required("rule", Type::Utf8, "Name of the rule that found it; names are stable"),
    required("severity", Type::Utf8, "`high`, `medium` or `low`"),
    required(
        "scope",
        Type::Utf8,
        "What the finding is about: `snapshot`, `class`, `set`, `node`; in a replayed trace `trace`, `type`, `function`",
    ),
    required("subject", Type::Utf8, "Its name"),
    optional("class_id", Type::UInt32, "Class, as in `classes`; null if the finding is about none"),
    optional("set", Type::UInt32, "Set, as in `duplicate_sets`; null likewise"),
    optional("node", Type::UInt32, "Node, or an example, as in `nodes`; null likewise"),
    optional("type_id", Type::UInt32, "Type, as in `allocation_types`; null likewise"),
    optional("function_id", Type::UInt32, "Function, as in `allocation_functions`; null likewise"),
    required("count", Type::Int64, "Objects concerned"),
    required("bytes", Type::Int64, "Bytes concerned: retained, wasted or allocated, as `message` says"),
    required("message", Type::Utf8, "What was found, with the evidence"),
    required("next_step", Type::Utf8, "What to do"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// How much a finding matters. The most severe compares as the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It retains much of the heap and looks like a mistake.
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
    /// The rule.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub scope: Scope,
    /// The name of the subject.
    pub subject: String,
    /// Its class.
    pub class_id: Option<u32>,
    /// Its set of duplicates.
    pub set: Option<u32>,
    /// The node, or an example.
    pub node: Option<u32>,
    /// The type, in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_id: Option<u32>,
    /// The function, in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_id: Option<u32>,
    /// Objects concerned.
    pub count: u64,
    /// Bytes concerned.
    pub bytes: u64,
    /// What was found.
    pub message: String,
    /// What to do.
    pub next_step: String,
}
