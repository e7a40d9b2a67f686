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
    required("object", Type::UInt32, "Allocation number, from 0"),
    required("type_id", Type::UInt32, "Type"),
    required("bytes", Type::Int64, "Size"),
    required("allocated_at_gc", Type::UInt32, "Last collection before the allocation; 0 for none"),
    optional("stack", Type::UInt32, "Its stack: `node` of `allocation_callees`; null without one"),
    required("first_address", Type::UInt64, "Address at allocation"),
    optional("last_address", Type::UInt64, "Address at death or at the end; null if an anomaly lost it"),
    required("moves", Type::Int64, "Address changes"),
    optional("died_at_gc", Type::UInt32, "Collection that reclaimed it; null if alive or lost"),
    optional("died_in_generation", Type::Utf8, "Generation that reclaimed it; null too"),
    optional("generation", Type::Utf8, "Its generation at the end; null if dead, lost, or in no range"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) mean null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TrackRow {
    /// Size.
    pub bytes: u64,
    /// Address at allocation.
    pub first_address: u64,
    /// Address at death or at the end.
    pub last_address: u64,
    /// Number of the allocation.
    pub object: u32,
    /// Type number.
    pub type_id: u32,
    /// Last collection before the allocation; 0 for none.
    pub allocated_at_gc: u32,
    /// Node of the call tree.
    pub stack: u32,
    /// Address changes.
    pub moves: u32,
    /// The collection that reclaimed it.
    pub died_at_gc: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// Likewise, the generation at the end.
    pub living: u32,
}
