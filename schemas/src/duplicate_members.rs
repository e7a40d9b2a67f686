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
    order: "`set`, then `node`",
    runs: Runs::Analyze,
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "The only table without the columns `release` and `snapshot`: it can have a row for each node, and says nothing \
         without `duplicate_sets` of the same run. Over several runs, let the reader name the folders, for example \
         `read_parquet('lake/*/*/duplicate_members.parquet', hive_partitioning = true)` in DuckDB.",
    ],
    names_run: false,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("set", Type::UInt32, "Set, as in `duplicate_sets`"),
    required("node", Type::UInt32, "Node, as in `nodes`"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
