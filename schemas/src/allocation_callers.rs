//! Table `allocation_callers`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "allocation_callers",
    file: "allocation_callers.parquet",
    row: "node of a type's reverse call graph",
    order: "`type_id`, then preorder; callers of one node by `estimated_bytes` descending, then `function_id`",
    runs: Runs::Replay,
    condition: None,
    notes: &[
        "Where the trace has the bytes of each type, those of its allocating functions and of its objects without a \
              stack sum to `bytes` in `allocation_types`, exactly; so do counts.",
        "Of traces with many deep stacks, the callers of the deepest are left out; the anomaly \
              `stacks_with_callers_left_out` counts those stacks.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Number of the row, from 0"),
    optional("parent", Type::UInt32, "`node` of the function that this one calls; null at depth 0"),
    required("depth", Type::UInt32, "Calls between the function and the allocation; 0 is the allocating function"),
    required("type_id", Type::UInt32, "Type allocated, as in `allocation_types`"),
    required("function_id", Type::UInt32, "Function, as in `allocation_functions`"),
    required("samples", Type::Int64, "Sampled stacks through the node"),
    required("sampled_bytes", Type::Int64, "Sizes of their objects"),
    required(
        "estimated_bytes",
        Type::Int64,
        "Bytes of all objects; an estimate only where the trace has no single allocations",
    ),
    required("estimated_count", Type::Int64, "Number of those objects; likewise"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on; its number is its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CallerRow {
    /// The node of the function that is called; `u32::MAX` for none.
    pub parent: u32,
    /// Calls between it and the allocation.
    pub depth: u32,
    /// Type allocated.
    pub type_id: u32,
    /// The function.
    pub function_id: u32,
    /// Sampled stacks.
    pub samples: u64,
    /// Sizes of their objects, bytes.
    pub sampled_bytes: u64,
    /// Sizes of all objects that they represent, bytes.
    pub estimated_bytes: u64,
    /// Number of these objects.
    pub estimated_count: u64,
}
