//! Table `moved_ranges`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "moved_ranges",
    file: "moved_ranges.parquet",
    row: "range of addresses that a collection moved",
    order: "collection, `from`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &["Ranges translate addresses between moments."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection"),
    required("from", Type::UInt64, "First address before the collection"),
    required("to", Type::UInt64, "First address after it"),
    required("bytes", Type::Int64, "Length of the range"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct MoveRow {
    /// The runtime's number of the collection.
    pub gc: u32,
    /// Padding; 0.
    pub padding: u32,
    /// Address before.
    pub from: u64,
    /// Address after.
    pub to: u64,
    /// Length.
    pub bytes: u64,
}
