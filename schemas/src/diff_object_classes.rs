//! Table `diff_object_classes`.

use crate::column::{address, bytes, count, text};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "class of the objects of two snapshots of a process",
    order: "`delta_bytes` descending, `class_key`",
    runs: Runs::Diff,
    condition: Some("with `--objects`"),
    notes: &[
        "Sums over the rows of `diff_objects` with this `class_key`. V8: `new_…`, `deleted_…` and `delta_…` are those \
         of Chrome DevTools, which omits classes without new and deleted objects.",
    ],
    names_run: false,
    columns: &[
        text("class", "Class name"),
        text("class_key", "As in `classes`"),
        text("signature", "Identity as text, the same in every run"),
        address("fingerprint", "XXH3-64 of `signature`"),
        count("new_count", "Objects only in the target"),
        count("deleted_count", "Objects only in the base"),
        count("kept_count", "Objects in both"),
        count("delta_count", "`new_count` less `deleted_count`"),
        bytes("new_bytes", "Their shallow sizes"),
        bytes("deleted_bytes", "Their shallow sizes"),
        bytes("kept_bytes", "Their shallow sizes in the target"),
        bytes("delta_bytes", "`new_bytes` less `deleted_bytes`"),
        bytes("kept_delta_bytes", "Growth of kept objects"),
    ],
    ..table!("diff_object_classes")
};
