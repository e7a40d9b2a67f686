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
    row: "sample of the time line of allocations",
    order: "`sample`",
    runs: Runs::Analyze,
    condition: Some("for snapshots of V8 with allocation tracking"),
    notes: &[
        "Each object belongs to the first sample whose `last_assigned_id` is not below its `id` in `nodes`: it was \
         allocated between the sample before and this one, or before the first. As in Chrome DevTools, parts of the \
         runtime, which have even ids, and what came after the last sample belong to none.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "Number of the sample, from 0"),
    required("seconds", Type::Float64, "When it was taken, since the recording began"),
    required("last_assigned_id", Type::UInt64, "Largest id of an object by then"),
    required("live_count", Type::Int64, "Objects of the interval that are alive"),
    required("live_bytes", Type::Int64, "Sum of their `shallow_bytes` in `nodes`"),
];

/// Its rows on their way to it.
pub const ROWS: Column<SampleRow> = Column::new("sample.row");

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that adds up living objects hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SampleRow {
    /// Microseconds since the recording began.
    pub time: u64,
    /// Largest id by then.
    pub last_id: u64,
    /// Objects of the interval that are alive.
    pub count: u64,
    /// Their shallow sizes, bytes.
    pub bytes: u64,
}
