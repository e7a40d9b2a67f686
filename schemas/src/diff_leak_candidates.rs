//! Table `diff_leak_candidates`.

use crate::table::{Runs, TableSchema, Type, optional, required};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "diff_leak_candidates",
    file: "diff_leak_candidates.parquet",
    row: "object that the target has, the base does not, and a third, later snapshot still has",
    order: "`retained_bytes` descending, then `id`, then `node`",
    runs: Runs::Diff,
    condition: Some("with `--objects` and `--final`"),
    notes: &[
        "What an action allocated between the first two snapshots and what is alive after it was undone before the third one \
         may be a leak. The set is that of memlab before its filters: every node, whatever its class and size.",
    ],
    names_run: false,
    columns: &[
        required("id", Type::UInt64, "What identifies the object in all snapshots, as in `diff_objects`"),
        required("node", Type::UInt32, "`node` in the `nodes` of the third snapshot"),
        required("class", Type::Utf8, "Name of the class there"),
        required("class_key", Type::Utf8, "Name with what tells equal names apart"),
        required("fingerprint", Type::UInt64, "`fingerprint` of the class"),
        required("kind", Type::Utf8, "Type of the node, as the format names it"),
        required("shallow_bytes", Type::Int64, "Shallow size there"),
        required("retained_bytes", Type::Int64, "Retained size there"),
        required(
            "head",
            Type::Boolean,
            "Whether its immediate dominator there is no candidate; a candidate that is no head is held by another one",
        ),
        optional(
            "chain",
            Type::Utf8,
            "The chain from a root that holds most bytes of the class there, as in `chains`; null if none is known",
        ),
        optional("chain_fingerprint", Type::UInt64, "XXH3-64 of its signature; null likewise"),
    ],
};
