//! Table `lifetime_paths`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "lifetime_paths",
    file: "lifetime_paths.parquet",
    row: "path of calls, and generation in which objects allocated on it died",
    order: "`node`, then `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &[
        "The paths are those of `allocation_callees`; one has a row for each generation in which some of its objects died, and \
         one for those alive.",
        "Counts and bytes are those of all objects, whatever `--sample-interval` is: their sums over all generations \
         are those of `allocation_callees`, but for objects that an anomaly lost.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Path: `node` of `allocation_callees`"),
    optional("parent", Type::UInt32, "`node` of the caller; null at depth 0"),
    required("depth", Type::UInt32, "Callers above; 0 is the outermost function of a stack"),
    required("function_id", Type::UInt32, "Innermost function of the path, as in `allocation_functions`"),
    required("function", Type::Utf8, "Its name"),
    required("generation", Type::Utf8, "As in `object_lifetimes`"),
    required("inclusive_count", Type::Int64, "Objects that the function and what it called allocated"),
    required("inclusive_bytes", Type::Int64, "Sum of their sizes"),
    required("exclusive_count", Type::Int64, "Objects that the function itself allocated"),
    required("exclusive_bytes", Type::Int64, "Sum of their sizes"),
    required("inclusive_samples", Type::Int64, "Allocations behind the inclusive numbers"),
    required("exclusive_samples", Type::Int64, "Allocations behind the exclusive numbers"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PathRow {
    /// Number of the node.
    pub node: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// The caller's node; `u32::MAX` for none.
    pub parent: u32,
    /// Callers above it.
    pub depth: u32,
    /// Number of the function.
    pub function_id: u32,
    /// Its name, in [`STRINGS`](crate::replay::STRINGS).
    pub function: u32,
    /// Objects, inclusive.
    pub inclusive_count: u64,
    /// Their bytes.
    pub inclusive_bytes: u64,
    /// Objects, exclusive.
    pub exclusive_count: u64,
    /// Their bytes.
    pub exclusive_bytes: u64,
    /// Sampled objects, inclusive.
    pub inclusive_samples: u64,
    /// Sampled objects, exclusive.
    pub exclusive_samples: u64,
}
