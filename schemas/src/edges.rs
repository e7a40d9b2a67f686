//! Table `edges`.

use crate::column::{flag, from_zero, id, text};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "edge of the heap graph",
    order: "`from`, by position in the input",
    condition: Some("for files of at most 256 MiB, or with `--edges`"),
    columns: &[
        id("from", "`node` of the source"),
        id("to", "`node` of the target"),
        text("kind", "Edge type, as the format names it"),
        text("name", "Label of a named edge; null for others").or_null(),
        from_zero("index", "Label of an indexed edge, such as an array's; null for others").or_null(),
        flag("essential", "Whether it keeps its target alive"),
    ],
    ..table!("edges")
};
