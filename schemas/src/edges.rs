//! Table `edges`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "edges",
    file: "edges.parquet",
    row: "edge of the heap graph",
    order: "`from`, then by position in the input",
    runs: Runs::Analyze,
    condition: Some("for files of at most 256 MiB, or with `--edges`"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("from", Type::UInt32, "`node` of the source"),
    required("to", Type::UInt32, "`node` of the target"),
    required("kind", Type::Utf8, "Type of the edge, as the format names it"),
    optional("name", Type::Utf8, "Label of an edge that has a name; null if it has an index, or the input names none"),
    optional(
        "index",
        Type::UInt32,
        "Label of an edge that has a number, such as an array's element; null if it has none",
    ),
    required(
        "essential",
        Type::Boolean,
        "Whether the edge keeps its target alive: it counts for dominators and retained sizes",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
