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
    order: "`type_id`, preorder; callers of one node by `estimated_bytes` descending, `function_id`",
    runs: Runs::Replay,
    condition: None,
    notes: &[
        "If the trace has bytes per type, those of its allocating functions and of its objects without a stack sum to \
         `bytes` in `allocation_types`, exactly; so do counts.",
        "Traces with many deep stacks omit the callers of the deepest; the anomaly `stacks_with_callers_left_out` \
         counts them.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Row number"),
    optional("parent", Type::UInt32, "`node` of the called function; null at depth 0"),
    required("depth", Type::UInt32, "Calls up to the allocation; 0 for the allocating function"),
    required("type_id", Type::UInt32, "Allocated type"),
    required("function_id", Type::UInt32, "Function"),
    required("samples", Type::Int64, "Sampled stacks through the node"),
    required("sampled_bytes", Type::Int64, "Sizes of their objects"),
    required("estimated_bytes", Type::Int64, "Bytes of all objects; estimated if the trace lacks single allocations"),
    required("estimated_count", Type::Int64, "Their number; likewise"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it; its position is its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CallerRow {
    /// Node of the called function; `u32::MAX` for none.
    pub parent: u32,
    /// Calls between the function and the allocation.
    pub depth: u32,
    /// Allocated type.
    pub type_id: u32,
    /// The function.
    pub function_id: u32,
    /// Sampled stacks.
    pub samples: u64,
    /// Sizes of their objects, bytes.
    pub sampled_bytes: u64,
    /// Sizes of all objects that the stacks represent, bytes.
    pub estimated_bytes: u64,
    /// Number of these objects.
    pub estimated_count: u64,
}
