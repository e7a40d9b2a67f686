//! Table `allocation_callees`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "allocation_callees",
    file: "allocation_callees.parquet",
    row: "node of the call tree",
    order: "preorder; callees of one node by `inclusive_bytes` descending, `function_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "Inclusive and exclusive as in `allocation_functions`, per call path.",
        "A snapshot has the tree of its input, below the runtime's node `(root)`, as in the allocation view of Chrome \
         DevTools.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Row number"),
    optional("parent", Type::UInt32, "`node` of the caller; null at depth 0"),
    required("depth", Type::UInt32, "Callers above"),
    required("function_id", Type::UInt32, "Function"),
    required("inclusive_samples", Type::Int64, "Sampled stacks through the node"),
    required("inclusive_bytes", Type::Int64, "Bytes, inclusive"),
    required("exclusive_samples", Type::Int64, "Sampled stacks that end in the node"),
    required("exclusive_bytes", Type::Int64, "Bytes, exclusive"),
    required("inclusive_count", Type::Int64, "Objects, inclusive"),
    required("exclusive_count", Type::Int64, "Objects, exclusive"),
    optional("trace_node", Type::UInt32, "The input's number of the node; null in traces"),
    optional("inclusive_live_count", Type::Int64, "Live objects, inclusive; null in traces"),
    optional("inclusive_live_bytes", Type::Int64, "Their shallow sizes; null too"),
    optional("exclusive_live_count", Type::Int64, "Live objects, exclusive; null too"),
    optional("exclusive_live_bytes", Type::Int64, "Their shallow sizes; null too"),
    required(
        "signature",
        Type::Utf8,
        "Identity of the call path as text: signatures of its functions, outermost first; of long paths the 2 \
         outermost and 6 innermost",
    ),
    required("fingerprint", Type::UInt64, "Hash of the fingerprints of all its functions"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the stage that finds the call tree writes it. [`ABSENT`](crate::replay::ABSENT) means null in optional
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CalleeRow {
    /// Number of the node.
    pub node: u32,
    /// The caller's node; `u32::MAX` for none.
    pub parent: u32,
    /// Callers above it.
    pub depth: u32,
    /// The function.
    pub function_id: u32,
    /// The input's number of the node; `u32::MAX` for none.
    pub trace_node: u32,
    /// Padding; 0.
    pub padding: u32,
    /// Sampled stacks through the node.
    pub inclusive_samples: u64,
    /// Bytes that these stacks represent.
    pub inclusive_bytes: u64,
    /// Sampled stacks that end in the node.
    pub exclusive_samples: u64,
    /// Bytes that these stacks represent.
    pub exclusive_bytes: u64,
    /// Objects that the sampled stacks through the node represent.
    pub inclusive_count: u64,
    /// Objects that the sampled stacks that end in the node represent.
    pub exclusive_count: u64,
    /// Live objects of the node and all nodes below; optional, like the next three.
    pub inclusive_live_count: u64,
    /// Their bytes.
    pub inclusive_live_bytes: u64,
    /// Live objects of the node alone.
    pub exclusive_live_count: u64,
    /// Their bytes.
    pub exclusive_live_bytes: u64,
}
