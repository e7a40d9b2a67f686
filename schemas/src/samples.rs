//! Table `samples`.

use crate::scratch::Column;
use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "samples",
    file: "samples.parquet",
    row: "sample of the allocation time line",
    order: "`sample`",
    runs: Runs::Analyze,
    condition: Some("for V8 snapshots with allocation tracking"),
    notes: &["An object belongs to the first sample with a `last_assigned_id` of at least its `id` in `nodes`. As in \
         Chrome DevTools, parts of the runtime, which have even ids, and objects after the last sample belong to \
         none."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "Sample number, from 0"),
    required("seconds", Type::Float64, "Time since the recording began"),
    required("last_assigned_id", Type::UInt64, "Largest object id by then"),
    required("live_count", Type::Int64, "Live objects of the interval"),
    required("live_bytes", Type::Int64, "Their shallow sizes"),
];

/// Scratch column of its rows.
pub const ROWS: Column<SampleRow> = Column::new("sample.row");

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the stage that adds up live objects writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SampleRow {
    /// Microseconds since the recording began.
    pub time: u64,
    /// Largest id by then.
    pub last_id: u64,
    /// Live objects of the interval.
    pub count: u64,
    /// Their shallow sizes, bytes.
    pub bytes: u64,
}
