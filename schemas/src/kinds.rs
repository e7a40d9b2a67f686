//! Table `kinds`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "kinds",
    file: "kinds.parquet",
    row: "kind of node that occurs",
    order: "`shallow_bytes` descending, then `kind`",
    runs: Runs::Analyze,
    condition: None,
    notes: &["What a heap consists of, at a glance: strings, code, arrays, closures, native memory."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("kind", Type::Utf8, "As in `nodes`"),
    required("count", Type::Int64, "Nodes"),
    required("self_bytes", Type::Int64, "Sum of `self_bytes` in `nodes`"),
    required("shallow_bytes", Type::Int64, "Sum of `shallow_bytes` in `nodes`"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
