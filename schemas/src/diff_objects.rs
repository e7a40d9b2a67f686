//! Table `diff_objects`.

use crate::column::{address, bytes, flag, id, text};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
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
        text("status", "`new` (target only), `deleted` (base only) or `kept` (both)"),
        address("id", "Object identity in both snapshots"),
        id("base_node", "`node` in the base; null if new").or_null(),
        id("target_node", "`node` in the target; null if deleted").or_null(),
        text("class", "Class name"),
        text("class_key", "As in `diff_object_classes`"),
        address("fingerprint", "`fingerprint` of the class"),
        text("kind", "Node type, as the format names it"),
        bytes("shallow_bytes", "Shallow size in the target; for deleted objects in the base"),
        bytes("retained_bytes", "Retained size, likewise"),
        bytes("base_shallow_bytes", "Shallow size in the base; null if new").or_null(),
        bytes("base_retained_bytes", "Retained size in the base; null too").or_null(),
        flag("in_both", "Whether both snapshots have this id, even with another class or no shallow size"),
    ],
    ..table!("diff_objects")
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
