//! Table `findings`.

use crate::table::{self, ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::{Field, SchemaRef};
use serde::{Deserialize, Serialize};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "findings",
    file: "findings.parquet",
    row: "finding",
    order: "`severity` (`high` first), `bytes` descending",
    runs: Runs::Both,
    condition: None,
    notes: &[
        "One cause is one finding: others about the same bytes become sentences of its `message`. Findings of one \
         rule about objects with equal holders are one, too.",
        "`stable_path` is `path` without indices, ids and contents of strings. `signature` has rule, class, and the \
         last steps of `stable_path`, up to the holder, which stay when the shortest path moves.",
    ],
    names_run: true,
    columns: COLUMNS,
};

/// Elements of paths.
const STEP: Type = Type::Utf8;

const COLUMNS: &[ColumnSchema] = &[
    required("finding", Type::UInt32, "Row number"),
    required("rule", Type::Utf8, "Name of the rule; stable"),
    required("severity", Type::Utf8, "`high`, `medium` or `low`"),
    required(
        "scope",
        Type::Utf8,
        "Subject of the finding: `snapshot`, `class`, `set`, `node`; in a replayed trace `trace`, `type`, `function`",
    ),
    required("subject", Type::Utf8, "Name"),
    optional("class_id", Type::UInt32, "Class; null if not about one"),
    optional("set", Type::UInt32, "Set; null too"),
    optional("node", Type::UInt32, "Node, or an example; null too"),
    optional("type_id", Type::UInt32, "Type; null too"),
    optional("function_id", Type::UInt32, "Function; null too"),
    required("count", Type::Int64, "Objects concerned"),
    required("bytes", Type::Int64, "Bytes concerned: retained, wasted, allocated or outside the heap (see `message`)"),
    required("message", Type::Utf8, "The finding with its evidence"),
    required("next_step", Type::Utf8, "Advice; empty if none fits in general"),
    required(
        "path",
        Type::List(&STEP),
        "References from a root that people know (a global object, a class with static fields, a thread) to `node`, \
         each as `Holder.field`; `[]` is the inside of a standard container, a star a repeat; long paths are cut; old \
         objects have their chain; empty if not about an object",
    ),
    optional("holder_node", Type::UInt32, "Nearest object of a named class above `node`; null if none"),
    optional("owner", Type::Utf8, "Package, script or team of `node`, as in `owners`; null without one"),
    optional("place", Type::Utf8, "Source of its nearest owner, as `file:line`; null if unknown"),
    optional("class_key", Type::Utf8, "`class_key` of `class_id`; null too"),
    required("stable_path", Type::List(&STEP), "`path`, equal in every run"),
    SIGNATURE,
    FINGERPRINT,
];

/// An element of `path` and `stable_path`.
pub fn step() -> Field {
    table::element(&STEP, false)
}

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// How much a finding matters; ordered from the most severe.
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

/// Subject of a finding.
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
    /// An allocated type.
    Type,
    /// An allocating function.
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
    /// Kind of its subject.
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
    /// The finding with its evidence.
    pub message: String,
    /// Advice; empty if none fits in general.
    pub next_step: String,
    /// References from a root to the node. The stage fills in this and the fields below, for all rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The nearest object of a named class above the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder_node: Option<u32>,
    /// Package, script or team of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Source of the nearest owner, as `file:line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Key of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_key: Option<String>,
    /// The path, the same in every run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stable_path: Vec<String>,
}
