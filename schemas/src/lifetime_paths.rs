//! Table `lifetime_paths`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "lifetime_paths",
    file: "lifetime_paths.parquet",
    row: "call path, and generation that reclaimed its objects or `alive`",
    order: "`node`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &[
        "Paths are those of `allocation_callees`.",
        "Counts and bytes cover all objects, whatever `--sample-interval` is: they sum to those of \
         `allocation_callees`, except for objects that an anomaly lost.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Path: `node` of `allocation_callees`"),
    optional("parent", Type::UInt32, "`node` of the caller; null at depth 0"),
    required("depth", Type::UInt32, "Callers above"),
    required("function_id", Type::UInt32, "Innermost function of the path"),
    required("function", Type::Utf8, "Name"),
    required("generation", Type::Utf8, "As in `object_lifetimes`"),
    required("inclusive_count", Type::Int64, "Objects allocated by the function and its callees"),
    required("inclusive_bytes", Type::Int64, "Their sizes"),
    required("exclusive_count", Type::Int64, "Objects allocated by the function itself"),
    required("exclusive_bytes", Type::Int64, "Their sizes"),
    required("inclusive_samples", Type::Int64, "Samples behind the inclusive numbers"),
    required("exclusive_samples", Type::Int64, "Samples behind the exclusive numbers"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it.
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
    /// Function number.
    pub function_id: u32,
    /// Its name, an id of [`STRINGS`](crate::replay::STRINGS).
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
