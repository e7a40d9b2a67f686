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
    order: "`from`, by position in the input",
    runs: Runs::Analyze,
    condition: Some("for files of at most 256 MiB, or with `--edges`"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("from", Type::UInt32, "`node` of the source"),
    required("to", Type::UInt32, "`node` of the target"),
    required("kind", Type::Utf8, "Edge type, as the format names it"),
    optional("name", Type::Utf8, "Label of a named edge; null for others"),
    optional("index", Type::UInt32, "Label of an indexed edge, such as an array's; null for others"),
    required("essential", Type::Boolean, "Whether it keeps its target alive"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
