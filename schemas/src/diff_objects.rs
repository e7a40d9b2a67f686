//! Table `diff_objects`.

use crate::table::{Runs, TableSchema, Type, optional, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_objects",
    file: "diff_objects.parquet",
    row: "object that one of two snapshots of a process has and the other does not",
    order: "`status` (`new`, `deleted`, `kept`), then `retained_bytes` descending, then `id`, then `class_key`",
    runs: Runs::Diff,
    condition: Some("with `--objects`"),
    notes: &[
        "Objects are the same if `id` is: V8's own id, which objects keep for life; of walks of a .NET heap the number in \
         `object_tracks`. As in the comparison view of Chrome DevTools, objects are compared class by class: one that is in \
         both snapshots under different classes is `deleted` from one class and `new` in the other. V8: nodes without a shallow size do \
         not count, and the base is classified with the interfaces (`{a, b}`) of the target. Java, .NET: unreachable nodes do not count.",
        "Objects with status `kept` are listed only if asked for.",
    ],
    names_run: false,
    columns: &[
        required(
            "status",
            Type::Utf8,
            "`new`: only the target has it; `deleted`: only the base has it; `kept`: both do",
        ),
        required("id", Type::UInt64, "What identifies the object in both snapshots"),
        optional("base_node", Type::UInt32, "`node` in the `nodes` of the base; null if it is new"),
        optional("target_node", Type::UInt32, "`node` in the `nodes` of the target; null if it is deleted"),
        required("class", Type::Utf8, "Name of the class"),
        required("class_key", Type::Utf8, "Name with what tells equal names apart, as in `diff_object_classes`"),
        required("fingerprint", Type::UInt64, "`fingerprint` of the class"),
        required("kind", Type::Utf8, "Type of the node, as the format names it"),
        required("shallow_bytes", Type::Int64, "Shallow size in the target, or of a deleted object in the base"),
        required("retained_bytes", Type::Int64, "Retained size, likewise"),
        optional("base_shallow_bytes", Type::Int64, "Shallow size in the base; null if it is new"),
        optional("base_retained_bytes", Type::Int64, "Retained size in the base; null likewise"),
        required(
            "in_both",
            Type::Boolean,
            "Whether both snapshots have a node with this id, be it of another class or without a shallow size",
        ),
    ],
};

/// What became of an object, in the column `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Only the target has it.
    New,
    /// Only the base has it.
    Deleted,
    /// Both have it.
    Kept,
}

impl Status {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 3] = [Self::New, Self::Deleted, Self::Kept];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Deleted => "deleted",
            Self::Kept => "kept",
        }
    }
}
