//! Table `scripts`.

use crate::column::{id, text};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "script of a source location in the input",
    order: "`script_id`",
    condition: Some("for V8 snapshots"),
    columns: &[
        id("script_id", "Script number in its process, as in `nodes`"),
        text("url", "URL or path; null if unknown or absent (`eval`)").or_null(),
        text("source_map", "File with its source map; null without one").or_null(),
    ],
    ..table!("scripts")
};
