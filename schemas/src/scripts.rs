//! Table `scripts`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "scripts",
    file: "scripts.parquet",
    row: "script of a source location in the input",
    order: "`script_id`",
    runs: Runs::Analyze,
    condition: Some("for V8 snapshots"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("script_id", Type::UInt32, "Script number in its process, as in `nodes`"),
    optional("url", Type::Utf8, "URL or path; null if unknown or absent (`eval`)"),
    optional("source_map", Type::Utf8, "File with its source map; null without one"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
