//! Table `generation_bounds`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "generation_bounds",
    file: "generation_bounds.parquet",
    row: "reported range of addresses of a generation",
    order: "collection, `moment`, `start`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &[
        "An object is in the generation whose range has its address, a range of survivors in that of the range where \
         it begins. In one collection the ranges of a generation either move or survive in place; the anomaly \
         `generations_moved_and_surviving` counts exceptions.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection"),
    required("moment", Type::Utf8, "`begin` or `end` of the collection"),
    required("generation", Type::UInt8, "0, 1, 2; 3 large, 4 pinned object heap"),
    required("start", Type::UInt64, "First address"),
    required("used", Type::Int64, "Bytes that objects may fill"),
    required("reserved", Type::Int64, "Bytes reserved"),
    optional("moved_ranges", Type::Int64, "Moved ranges that begin in it; null at the end"),
    optional("surviving_ranges", Type::Int64, "Ranges surviving in place that begin in it; null too"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of moments.
pub const MOMENTS: [&str; 2] = ["begin", "end"];

/// A row as the replay writes it; [`ABSENT`](crate::replay::ABSENT) means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BoundRow {
    /// First address.
    pub start: u64,
    /// Bytes in use.
    pub used: u64,
    /// Bytes reserved.
    pub reserved: u64,
    /// Ranges that moved.
    pub moved: u64,
    /// Ranges that stayed.
    pub surviving: u64,
    /// The runtime's number of the collection.
    pub gc: u32,
    /// Index into [`MOMENTS`].
    pub moment: u32,
    /// The generation.
    pub generation: u32,
    /// Padding; 0.
    pub padding: u32,
}
