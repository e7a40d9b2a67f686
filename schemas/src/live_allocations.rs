//! Table `live_allocations`.

use crate::scratch::Column;
use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "live_allocations",
    file: "live_allocations.parquet",
    row: "class, stack and time-line interval of live objects",
    order: "`sample`, `class_id`, `node`; null last",
    runs: Runs::Analyze,
    condition: Some("for V8 snapshots with allocation tracking"),
    notes: &[
        "Rows sum by `node` to the live objects of a stack, as in the allocation view of Chrome DevTools, and by \
         `sample` to `samples`. Objects with neither have no row.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    optional(
        "sample",
        Type::UInt32,
        "Their interval in `samples`; null if none, as for parts of the runtime and after the last sample",
    ),
    required("class_id", Type::UInt32, "Class"),
    required("class", Type::Utf8, "Class name"),
    optional(
        "node",
        Type::UInt32,
        "Their stack: `node` of `allocation_callees`; null if unknown, as for objects older than the tracking",
    ),
    required("live_count", Type::Int64, "Objects"),
    required("live_bytes", Type::Int64, "Their shallow sizes"),
];

/// Scratch column of its rows.
pub const ROWS: Column<LiveRow> = Column::new("live.row");

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the stage that adds up live objects writes it. `u32::MAX` means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LiveRow {
    /// The interval; optional.
    pub sample: u32,
    /// The class.
    pub class: u32,
    /// Node of the call tree; optional.
    pub node: u32,
    /// Padding; 0.
    pub padding: u32,
    /// Objects.
    pub count: u64,
    /// Their shallow sizes, bytes.
    pub bytes: u64,
}
