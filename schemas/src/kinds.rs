//! Table `kinds`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "kinds",
    file: "kinds.parquet",
    row: "node kind that occurs",
    order: "`shallow_bytes` descending, `kind`",
    runs: Runs::Analyze,
    condition: None,
    notes: &["The heap at a glance."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("kind", Type::Utf8, "As in `nodes`"),
    required("count", Type::Int64, "Nodes"),
    required("self_bytes", Type::Int64, "Their `self_bytes`"),
    required("shallow_bytes", Type::Int64, "Their shallow sizes"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
