//! Table `findings`.

use crate::column::{FINGERPRINT, SIGNATURE, Type, Unit, bytes, column, count, id, text};
use crate::table::{Runs, TableSchema, table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "finding",
    order: "`severity` (`high` first), `bytes` descending",
    runs: Runs::Both,
    notes: &[
        "One cause is one finding: others about the same bytes become sentences of its `message`. Findings of one \
         rule about objects with equal holders are one, too.",
        "`stable_path` is `path` without indices, ids and contents of strings. `signature` has rule, class, and the \
         last steps of `stable_path`, up to the holder, which stay when the shortest path moves.",
    ],
    columns: &[
        id("finding", "Row number"),
        text("rule", "Name of the rule; stable"),
        text("severity", "`high`, `medium` or `low`"),
        text(
            "scope",
            "Subject of the finding: `snapshot`, `class`, `set`, `node`; in a replayed trace `trace`, `type`, \
                 `function`",
        ),
        text("subject", "Name"),
        id("class_id", "Class; null if not about one").or_null(),
        id("set", "Set; null too").or_null(),
        id("node", "Node, or an example; null too").or_null(),
        id("type_id", "Type; null too").or_null(),
        id("function_id", "Function; null too").or_null(),
        count("count", "Objects concerned"),
        bytes("bytes", "Bytes concerned: retained, wasted, allocated or outside the heap (see `message`)"),
        text("message", "The finding with its evidence"),
        text("next_step", "Advice; empty if none fits in general"),
        column(
            "path",
            Type::List(&Type::Utf8),
            Unit::Text,
            "References from a root that people know (a global object, a class with static fields, a thread) to \
                 `node`, \
         each as `Holder.field`; `[]` is the inside of a standard container, a star a repeat; long paths are cut; old \
         objects have their chain; empty if not about an object",
        ),
        id("holder_node", "Nearest object of a named class above `node`; null if none").or_null(),
        text("owner", "Package, script or team of `node`, as in `owners`; null without one").or_null(),
        text("place", "Source of its nearest owner, as `file:line`; null if unknown").or_null(),
        text("class_key", "`class_key` of `class_id`; null too").or_null(),
        column("stable_path", Type::List(&Type::Utf8), Unit::Text, "`path`, equal in every run"),
        SIGNATURE,
        FINGERPRINT,
    ],
    ..table!("findings")
};

/// How much a finding matters; ordered from the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// The severity of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::High, Self::Medium, Self::Low].into_iter().find(|severity| severity.name() == name)
    }

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The scope of this name.
    pub fn named(name: &str) -> Option<Self> {
        use Scope::{Class, Function, Node, Set, Snapshot, Trace, Type};
        [Snapshot, Class, Set, Node, Trace, Type, Function].into_iter().find(|scope| scope.name() == name)
    }

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
