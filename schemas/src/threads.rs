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
    required("node", Type::UInt32, "`node` of the thread's object"),
    optional("name", Type::Utf8, "Name of the thread; null if the dump does not tell"),
    required(
        "frames",
        Type::ListOfOptional(&FRAME),
        "Stack, innermost frame first; a frame that the dump does not describe is null; of a stack that another thread \
         has too, only the 64 innermost frames, and then a frame that says so",
    ),
    required("locals", Type::Int64, "References from the stack"),
    required("retained_bytes", Type::Int64, "As in `nodes`"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const FRAME: Type = Type::Utf8;

/// An element of `frames`.
#[must_use]
pub fn frame() -> Field {
    table::element(&FRAME, true)
}
