//! Table `duplicate_members`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "duplicate_members",
    file: "duplicate_members.parquet",
    row: "member of a set of duplicates",
    order: "`set`, `node`",
    runs: Runs::Analyze,
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "Has no columns `release` and `snapshot`, since it can have a row per node and needs the `duplicate_sets` of \
         its run anyway. Over several runs, let the reader name the folders: \
         `read_parquet('lake/*/*/duplicate_members.parquet', hive_partitioning = true)` in DuckDB.",
    ],
    names_run: false,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[required("set", Type::UInt32, "Set"), required("node", Type::UInt32, "Node")];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
