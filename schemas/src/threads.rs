//! Table `threads`.

use crate::column::{Type, Unit, bytes, column, count, id, text};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "thread",
    order: "`node`",
    condition: Some("for dumps of Java heaps"),
    columns: &[
        id("node", "`node` of the thread object"),
        text("name", "Its name; null if the dump lacks it").or_null(),
        column(
            "frames",
            Type::ListOfOptional(&Type::Utf8),
            Unit::Text,
            "Stack, innermost first; null for frames missing in the dump; a stack shared with another thread has only \
                 the \
         64 innermost frames, then a mark",
        ),
        count("locals", "References from its stack"),
        bytes("retained_bytes", "As in `nodes`"),
    ],
    ..table!("threads")
};
