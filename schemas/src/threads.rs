//! Table `threads`.

use crate::table::{self, ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::{Field, SchemaRef};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "threads",
    file: "threads.parquet",
    row: "thread",
    order: "`node`",
    runs: Runs::Analyze,
    condition: Some("for dumps of Java heaps"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "`node` of the thread object"),
    optional("name", Type::Utf8, "Its name; null if the dump lacks it"),
    required(
        "frames",
        Type::ListOfOptional(&FRAME),
        "Stack, innermost first; null for frames missing in the dump; a stack shared with another thread has only the \
         64 innermost frames, then a mark",
    ),
    required("locals", Type::Int64, "References from its stack"),
    required("retained_bytes", Type::Int64, "As in `nodes`"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const FRAME: Type = Type::Utf8;

/// An element of `frames`.
pub fn frame() -> Field {
    table::element(&FRAME, true)
}
