//! Table `diff_object_classes`.

use crate::table::{Runs, TableSchema, Type, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_object_classes",
    file: "diff_object_classes.parquet",
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
        required("class", Type::Utf8, "Class name"),
        required("class_key", Type::Utf8, "As in `classes`"),
        required("signature", Type::Utf8, "Identity as text, the same in every run"),
        required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
        required("new_count", Type::Int64, "Objects only in the target"),
        required("deleted_count", Type::Int64, "Objects only in the base"),
        required("kept_count", Type::Int64, "Objects in both"),
        required("delta_count", Type::Int64, "`new_count` less `deleted_count`"),
        required("new_bytes", Type::Int64, "Their shallow sizes"),
        required("deleted_bytes", Type::Int64, "Their shallow sizes"),
        required("kept_bytes", Type::Int64, "Their shallow sizes in the target"),
        required("delta_bytes", Type::Int64, "`new_bytes` less `deleted_bytes`"),
        required("kept_delta_bytes", Type::Int64, "Growth of kept objects"),
    ],
};
