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
    order: "`gc`, `address`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves, survivors and heap walks"),
    notes: &[
        "`object` joins walks of one process, whatever the addresses; `address` joins a walk with the `nodes` of \
         `heaplake analyze --walk`.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection that ended with the walk"),
    required("address", Type::UInt64, "Address then; `id` in the `nodes` of the walk"),
    optional("object", Type::UInt32, "Object, as in `object_tracks`; null if not in the trace"),
    optional("type_id", Type::UInt32, "Type; null too"),
    optional("bytes", Type::Int64, "Size; null too"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) mean null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WalkRow {
    /// Address of the object.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The collection.
    pub gc: u32,
    /// Number of its allocation.
    pub object: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Padding; 0.
    pub padding: u32,
}
