//! Table `kinds`.

use crate::column::{bytes, count, text};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "node kind that occurs",
    order: "`shallow_bytes` descending, `kind`",
    notes: &["The heap at a glance."],
    columns: &[
        text("kind", "As in `nodes`"),
        count("count", "Nodes"),
        bytes("self_bytes", "Their `self_bytes`"),
        bytes("shallow_bytes", "Their shallow sizes"),
    ],
    ..table!("kinds")
};
