//! Table `walk_objects`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "walk_objects",
    file: "walk_objects.parquet",
    row: "object of a heap walk",
    order: "`gc`, then `address`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves, survivors and heap walks"),
    notes: &[
        "`object` is the same in all walks, whatever the address, so it joins two walks of one process. `address` joins a \
         walk with the `nodes` of `heaplake analyze --walk`.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection at whose end the heap was walked, as in `collections`"),
    required("address", Type::UInt64, "Address at that moment; `id` in the `nodes` of the same walk"),
    optional("object", Type::UInt32, "Object, as in `object_tracks`; null if the trace has no allocation of it"),
    optional("type_id", Type::UInt32, "Type, as in `allocation_types`; null likewise"),
    optional("bytes", Type::Int64, "Size; null likewise"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) mean
/// null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WalkRow {
    /// Where the object is.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The collection.
    pub gc: u32,
    /// Number of its allocation.
    pub object: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Always 0.
    pub padding: u32,
}
