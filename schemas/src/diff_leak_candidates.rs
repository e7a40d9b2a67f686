//! Table `diff_leak_candidates`.

use crate::column::{address, bytes, flag, id, text};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
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
        address("id", "Object identity, as in `diff_objects`"),
        id("node", "`node` in the third snapshot, like the columns below"),
        text("class", "Its name"),
        text("class_key", "`class_key` of the class"),
        address("fingerprint", "`fingerprint` of the class"),
        text("kind", "Node type, as the format names it"),
        bytes("shallow_bytes", "Shallow size"),
        bytes("retained_bytes", "Retained size"),
        flag("head", "Whether its immediate dominator is no candidate"),
        text("chain", "Chain with most bytes of the class; null if unknown").or_null(),
        address("chain_fingerprint", "XXH3-64 of its signature; null too").or_null(),
    ],
    ..table!("diff_leak_candidates")
};
