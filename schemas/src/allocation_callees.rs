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
    order: "preorder; callees of one node by `inclusive_bytes` descending, then `function_id`",
    runs: Runs::Both,
    condition: Some("for traces, and for snapshots of V8 with allocation stacks"),
    notes: &[
        "Inclusive and exclusive are those of `allocation_functions`, for one path of calls.",
        "Of a snapshot, the tree is that of its input, with the node `(root)` that the runtime puts above all others; \
         its rows are those of the allocation view of Chrome DevTools.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Number of the row, from 0"),
    optional("parent", Type::UInt32, "`node` of the caller; null at depth 0"),
    required("depth", Type::UInt32, "Callers above; 0 is the outermost function of a stack"),
    required("function_id", Type::UInt32, "Function, as in `allocation_functions`"),
    required("inclusive_samples", Type::Int64, "Sampled stacks through the node"),
    required("inclusive_bytes", Type::Int64, "Bytes, inclusive"),
    required("exclusive_samples", Type::Int64, "Sampled stacks that end in the node"),
    required("exclusive_bytes", Type::Int64, "Bytes, exclusive"),
    required("inclusive_count", Type::Int64, "Objects, inclusive"),
    required("exclusive_count", Type::Int64, "Objects, exclusive"),
    optional("trace_node", Type::UInt32, "Number of the node in the input, as in `nodes`; null in traces"),
    optional("inclusive_live_count", Type::Int64, "Objects still alive, inclusive; null in traces"),
    optional("inclusive_live_bytes", Type::Int64, "Sum of their `shallow_bytes`; null likewise"),
    optional("exclusive_live_count", Type::Int64, "Objects still alive, exclusive; null likewise"),
    optional("exclusive_live_bytes", Type::Int64, "Sum of their `shallow_bytes`; null likewise"),
    required(
        "signature",
        Type::Utf8,
        "Path of calls as text that is the same in every run of the program: the signatures of its functions from the outermost one on; of a long path the 2 outermost and the 6 innermost",
    ),
    required(
        "fingerprint",
        Type::UInt64,
        "Hash of the fingerprints of all functions of the path, also of those that `signature` leaves out",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that finds the call tree hands it on. In optional numbers,
/// [`ABSENT`](crate::replay::ABSENT) means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CalleeRow {
    /// Number of the node; `u32::MAX` in `parent` is none.
    pub node: u32,
    /// The caller's node.
    pub parent: u32,
    /// Callers above it.
    pub depth: u32,
    /// The function.
    pub function_id: u32,
    /// Number of the node in the input; `u32::MAX` for none.
    pub trace_node: u32,
    /// Always 0.
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
    /// Objects of the node and of all below that are alive; optional, as the next three.
    pub inclusive_live_count: u64,
    /// Their bytes.
    pub inclusive_live_bytes: u64,
    /// Objects of the node alone that are alive.
    pub exclusive_live_count: u64,
    /// Their bytes.
    pub exclusive_live_bytes: u64,
}
