//! Table `duplicate_members`.

use crate::column::id;
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "member of a set of duplicates",
    order: "`set`, `node`",
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "Has no columns `release` and `snapshot`, since it can have a row per node and needs the `duplicate_sets` of \
         its run anyway. Over several runs, let the reader name the folders: \
         `read_parquet('lake/*/*/duplicate_members.parquet', hive_partitioning = true)` in DuckDB.",
    ],
    names_run: false,
    columns: &[id("set", "Set"), id("node", "Node")],
    ..table!("duplicate_members")
};
