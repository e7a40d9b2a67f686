//! Table `diff_objects`.

use crate::table::{Runs, TableSchema, Type, optional, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_objects",
    file: "diff_objects.parquet",
    row: "object in one of two snapshots of a process and not in the other",
    order: "`status` (`new`, `deleted`, `kept`), `retained_bytes` descending, `id`, `class_key`",
    runs: Runs::Diff,
    condition: Some("with `--objects`"),
    notes: &[
        "Objects are matched by `id`: V8's own, stable id; in walks of a .NET heap the number in `object_tracks`. As \
         in Chrome DevTools, comparison is by class: an object with another class in the target is `deleted` from one \
         and `new` in the other. V8: nodes without a shallow size do not count, and the base is classified with the \
         interfaces (`{a, b}`) of the target. Java, .NET: unreachable nodes do not count.",
        "`kept` objects are listed only on request.",
    ],
    names_run: false,
    columns: &[
        required("status", Type::Utf8, "`new` (target only), `deleted` (base only) or `kept` (both)"),
        required("id", Type::UInt64, "Object identity in both snapshots"),
        optional("base_node", Type::UInt32, "`node` in the base; null if new"),
        optional("target_node", Type::UInt32, "`node` in the target; null if deleted"),
        required("class", Type::Utf8, "Class name"),
        required("class_key", Type::Utf8, "As in `diff_object_classes`"),
        required("fingerprint", Type::UInt64, "`fingerprint` of the class"),
        required("kind", Type::Utf8, "Node type, as the format names it"),
        required("shallow_bytes", Type::Int64, "Shallow size in the target; for deleted objects in the base"),
        required("retained_bytes", Type::Int64, "Retained size, likewise"),
        optional("base_shallow_bytes", Type::Int64, "Shallow size in the base; null if new"),
        optional("base_retained_bytes", Type::Int64, "Retained size in the base; null too"),
        required(
            "in_both",
            Type::Boolean,
            "Whether both snapshots have this id, even with another class or no shallow size",
        ),
    ],
};

/// Status of an object, in the column `status`.
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
    /// All values, in the order of the table.
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
