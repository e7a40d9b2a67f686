//! Table `diff_leak_candidates`.

use crate::table::{Runs, TableSchema, Type, optional, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_leak_candidates",
    file: "diff_leak_candidates.parquet",
    row: "object in the target, not in the base, and in a third, later snapshot",
    order: "`retained_bytes` descending, `id`, `node`",
    runs: Runs::Diff,
    condition: Some("with `--objects` and `--final`"),
    notes: &[
        "Objects that an action allocated between the first two snapshots, alive in the third after it was undone, \
         may leak. The set is memlab's before its filters.",
    ],
    names_run: false,
    columns: &[
        required("id", Type::UInt64, "Object identity, as in `diff_objects`"),
        required("node", Type::UInt32, "`node` in the third snapshot, like the columns below"),
        required("class", Type::Utf8, "Its name"),
        required("class_key", Type::Utf8, "`class_key` of the class"),
        required("fingerprint", Type::UInt64, "`fingerprint` of the class"),
        required("kind", Type::Utf8, "Node type, as the format names it"),
        required("shallow_bytes", Type::Int64, "Shallow size"),
        required("retained_bytes", Type::Int64, "Retained size"),
        required("head", Type::Boolean, "Whether its immediate dominator is no candidate"),
        optional("chain", Type::Utf8, "Chain with most bytes of the class; null if unknown"),
        optional("chain_fingerprint", Type::UInt64, "XXH3-64 of its signature; null too"),
    ],
};
