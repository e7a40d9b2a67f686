//! Table `scripts`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "scripts",
    file: "scripts.parquet",
    row: "script that a source location in the input names",
    order: "`script_id`",
    runs: Runs::Analyze,
    condition: Some("for snapshots of V8"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("script_id", Type::UInt32, "Number of the script in its process, as in `nodes`"),
    optional(
        "url",
        Type::Utf8,
        "URL or path of the script; null if the input does not tell, or the script has none (`eval`)",
    ),
    optional("source_map", Type::Utf8, "Name of the file with the source map that was used; null without one"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
