//! Table `lifetime_sites`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "lifetime_sites",
    file: "lifetime_sites.parquet",
    row: "allocating function, type, and generation that reclaimed the objects or `alive`",
    order: "`bytes` descending, `function_id`, `type_id`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &["Counts and bytes cover all objects with a stack, except those that an anomaly lost."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("function_id", Type::UInt32, "Innermost function of the stack"),
    required("function", Type::Utf8, "Name"),
    required("type_id", Type::UInt32, "Type"),
    required("type", Type::Utf8, "Name"),
    required("generation", Type::Utf8, "As in `object_lifetimes`"),
    required("count", Type::Int64, "Objects"),
    required("bytes", Type::Int64, "Their sizes"),
    required("samples", Type::Int64, "Allocations behind these numbers"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SiteRow {
    /// Function number.
    pub function_id: u32,
    /// Type number.
    pub type_id: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// Name of the function, an id of [`STRINGS`](crate::replay::STRINGS).
    pub function: u32,
    /// Objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Allocations behind them.
    pub samples: u64,
}
