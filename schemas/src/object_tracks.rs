//! Table `object_tracks`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_tracks",
    file: "object_tracks.parquet",
    row: "allocated object",
    order: "`object`, the order of allocation",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("object", Type::UInt32, "Number of the allocation, from 0"),
    required("type_id", Type::UInt32, "Type, as in `allocation_types`"),
    required("bytes", Type::Int64, "Size"),
    required("allocated_at_gc", Type::UInt32, "Last collection that ended before the allocation; 0 for none"),
    optional(
        "stack",
        Type::UInt32,
        "`node` of `allocation_callees` that allocated the object; null if the trace has no stack for it",
    ),
    required("first_address", Type::UInt64, "Address at allocation"),
    optional("last_address", Type::UInt64, "Address at death or at the end; null for an object that an anomaly lost"),
    required("moves", Type::Int64, "Changes of the address"),
    optional("died_at_gc", Type::UInt32, "Collection that reclaimed the object; null if it is alive or lost"),
    optional("died_in_generation", Type::Utf8, "Generation that reclaimed it; null likewise"),
    optional("generation", Type::Utf8, "Generation that it is in at the end; null if it is dead, lost, or in no range"),
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
pub struct TrackRow {
    /// Size.
    pub bytes: u64,
    /// Where it was allocated.
    pub first_address: u64,
    /// Where it is or was last.
    pub last_address: u64,
    /// Number of the allocation.
    pub object: u32,
    /// Number of the type.
    pub type_id: u32,
    /// The last collection before.
    pub allocated_at_gc: u32,
    /// Node of the call tree.
    pub stack: u32,
    /// Changes of its address.
    pub moves: u32,
    /// The collection that reclaimed it.
    pub died_at_gc: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// The same of the generation at the end.
    pub living: u32,
}
