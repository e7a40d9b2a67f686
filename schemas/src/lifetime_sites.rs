//! Table `lifetime_sites`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "lifetime_sites",
    file: "lifetime_sites.parquet",
    row: "allocating function, type, and generation in which the objects died",
    order: "`bytes` descending, then `function_id`, `type_id`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &[
        "Counts and bytes are those of all objects whose stack the trace has: their sums over all generations are what was \
         allocated, but for objects that an anomaly lost.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("function_id", Type::UInt32, "Innermost function of the allocation's stack, as in `allocation_functions`"),
    required("function", Type::Utf8, "Its name"),
    required("type_id", Type::UInt32, "Type, as in `allocation_types`"),
    required("type", Type::Utf8, "Its name"),
    required("generation", Type::Utf8, "As in `object_lifetimes`"),
    required("count", Type::Int64, "Objects"),
    required("bytes", Type::Int64, "Sum of their sizes"),
    required("samples", Type::Int64, "Allocations behind these numbers: the objects, each of them counted"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SiteRow {
    /// Number of the function.
    pub function_id: u32,
    /// Number of the type.
    pub type_id: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// Name of the function, in [`STRINGS`](crate::replay::STRINGS).
    pub function: u32,
    /// Objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Allocations behind them.
    pub samples: u64,
}
