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
    row: "finding: something in the run that is worth a look",
    order: "`severity` (`high` first), then `bytes` descending",
    runs: Runs::Both,
    condition: None,
    notes: &[
        "One cause is one finding: what restates the same bytes is a sentence of evidence in `message`. Findings of one \
         rule about objects that are held alike are one finding, too.",
        "`stable_path` is `path` without indices, ids, and contents of strings. `signature` has the rule, the class, and the last \
         steps of `stable_path`, up to the holder: what stays the same when the shortest path moves.",
    ],
    names_run: true,
    columns: COLUMNS,
};

/// Elements of paths.
const STEP: Type = Type::Utf8;

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
    required(
        "bytes",
        Type::Int64,
        "Bytes concerned: retained, wasted, allocated, or outside the heap, as `message` says",
    ),
    required("message", Type::Utf8, "What was found, with the evidence"),
    required("next_step", Type::Utf8, "What to do; empty if nothing fits in general"),
    required(
        "path",
        Type::List(&STEP),
        "The references from a root that people know (a global object, a class with static fields, a thread) to `node`, each as `Holder.field`; the insides of standard containers are `[]`, a star marks repeats; of a very long path the middle is left out; of old objects of a recording their chain; empty if the finding is about no object",
    ),
    optional(
        "holder_node",
        Type::UInt32,
        "The nearest object of a named class above `node`, as in `nodes`; null if there is none",
    ),
    optional("owner", Type::Utf8, "Package, script or team of `node`, as in `owners`; null if nobody owns it"),
    optional(
        "place",
        Type::Utf8,
        "Where the code of the nearest owner of `node` is: `file:line`; null if the input does not tell",
    ),
    optional("class_key", Type::Utf8, "`class_key` of `class_id`; null likewise"),
    required("stable_path", Type::List(&STEP), "`path` as it is in every run"),
    SIGNATURE,
    FINGERPRINT,
];

/// An element of `path` and `stable_path`.
#[must_use]
pub fn step() -> Field {
    table::element(&STEP, false)
}

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
    /// What to do; empty if nothing fits in general.
    pub next_step: String,
    /// The references from a root to the node. The stage fills in this and what follows, for all rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The nearest object of a named class above the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder_node: Option<u32>,
    /// Package, script or team of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Where the code of the nearest owner is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Key of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_key: Option<String>,
    /// The path as it is in every run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stable_path: Vec<String>,
}
