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
    row: "class, allocating stack and interval of the time line of objects that are alive",
    order: "`sample`, then `class_id`, then `node`; null last",
    runs: Runs::Analyze,
    condition: Some("for snapshots of V8 with allocation tracking"),
    notes: &[
        "Sums by `node` are the living objects of a stack, as the allocation view of Chrome DevTools has them; sums by \
         `sample` are those of `samples`. Objects with neither stack nor interval have no row.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    optional(
        "sample",
        Type::UInt32,
        "Interval in which they were allocated, as in `samples`; null if the input has no time line, for parts of the runtime, and for what came after the last sample",
    ),
    required("class_id", Type::UInt32, "Class, as in `classes`"),
    required("class", Type::Utf8, "Name of the class"),
    optional(
        "node",
        Type::UInt32,
        "Stack that allocated them: `node` of `allocation_callees`; null if the input does not tell, as of objects that are older than the tracking",
    ),
    required("live_count", Type::Int64, "Objects"),
    required("live_bytes", Type::Int64, "Sum of their `shallow_bytes` in `nodes`"),
];

/// Its rows on their way to it.
pub const ROWS: Column<LiveRow> = Column::new("live.row");

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that adds up living objects hands it on. `u32::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LiveRow {
    /// The interval; optional.
    pub sample: u32,
    /// The class.
    pub class: u32,
    /// Node of the call tree; optional.
    pub node: u32,
    /// Always 0.
    pub padding: u32,
    /// Objects.
    pub count: u64,
    /// Their shallow sizes, bytes.
    pub bytes: u64,
}
