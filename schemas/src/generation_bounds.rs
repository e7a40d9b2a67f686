//! Table `generation_bounds`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "generation_bounds",
    file: "generation_bounds.parquet",
    row: "range of addresses of a generation, as a collection reports it",
    order: "collection, `moment`, `start`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &[
        "An object is in the generation whose range holds its address. A range of survivors belongs to the range in which it \
         begins. A generation has moved or surviving ranges in one collection, never both: the anomaly \
         `generations_moved_and_surviving` counts those that have both.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection, as in `collections`"),
    required("moment", Type::Utf8, "`begin` or `end` of the collection"),
    required("generation", Type::UInt8, "0, 1, 2; 3 is the large object heap, 4 the pinned object heap"),
    required("start", Type::UInt64, "First address"),
    required("used", Type::Int64, "Bytes from there that objects may fill"),
    required("reserved", Type::Int64, "Bytes from there that the generation has"),
    optional("moved_ranges", Type::Int64, "Ranges that begin in it and survived moving; null at the end"),
    optional("surviving_ranges", Type::Int64, "Ranges that begin in it and survived in place; null likewise"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of moments.
pub const MOMENTS: [&str; 2] = ["begin", "end"];

/// One row, as the stage that replays a trace hands it on; [`ABSENT`](crate::replay::ABSENT) means null.
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
    /// Always 0.
    pub padding: u32,
}
