//! Table `diff_object_classes`.

use crate::table::{Runs, TableSchema, Type, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_object_classes",
    file: "diff_object_classes.parquet",
    row: "class of the objects of two snapshots of a process",
    order: "`delta_bytes` descending, then `class_key`",
    runs: Runs::Diff,
    condition: Some("with `--objects`"),
    notes: &[
        "Sums of the objects of `diff_objects` with this `class_key`. Of snapshots of V8, `new_…`, `deleted_…` and `delta_…` \
         are the columns of the comparison view of Chrome DevTools, which leaves out classes without new and deleted objects.",
    ],
    names_run: false,
    columns: &[
        required("class", Type::Utf8, "Name of the class"),
        required("class_key", Type::Utf8, "Name with what tells equal names apart, as in `classes`"),
        required("signature", Type::Utf8, "What the class is, as text that is the same in every run"),
        required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
        required("new_count", Type::Int64, "Objects that only the target has"),
        required("deleted_count", Type::Int64, "Objects that only the base has"),
        required("kept_count", Type::Int64, "Objects that both have"),
        required("delta_count", Type::Int64, "`new_count` less `deleted_count`"),
        required("new_bytes", Type::Int64, "Shallow sizes of new objects"),
        required("deleted_bytes", Type::Int64, "Shallow sizes of deleted objects"),
        required("kept_bytes", Type::Int64, "Shallow sizes of kept objects, in the target"),
        required("delta_bytes", Type::Int64, "`new_bytes` less `deleted_bytes`"),
        required("kept_delta_bytes", Type::Int64, "What kept objects grew, by their shallow sizes"),
    ],
};
