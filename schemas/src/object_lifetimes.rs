//! Table `object_lifetimes`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_lifetimes",
    file: "object_lifetimes.parquet",
    row: "type and generation in which its objects died",
    order: "`type_id`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with moves and survivors"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("type_id", Type::UInt32, "Type"),
    required("type", Type::Utf8, "Name"),
    required("generation", Type::Utf8, "Generation that reclaimed them: `0`, `1`, `2`, `large`, `pinned`; or `alive`"),
    required("count", Type::Int64, "Objects, exact"),
    required("bytes", Type::Int64, "Sum of their sizes, exact"),
    required("mean_age_gcs", Type::Float64, "Mean number of collections from allocation to death, inclusive"),
    required("max_age_gcs", Type::Int64, "Largest such number"),
    optional("mean_age_seconds", Type::Float64, "Mean age; null without times"),
    SIGNATURE,
    FINGERPRINT,
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of the generations, by their codes in scratch columns; the last is that of objects alive at the end.
pub const GENERATIONS: [&str; 6] = ["0", "1", "2", "large", "pinned", "alive"];

/// The code of objects alive at the end of the trace.
pub const ALIVE: usize = GENERATIONS.len() - 1;

/// A row as the replay writes it.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LifetimeRow {
    /// Type number.
    pub type_id: u32,
    /// Index into [`GENERATIONS`].
    pub generation: u32,
    /// Objects.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// Mean age in collections.
    pub mean_age_gcs: f64,
    /// Mean age in seconds; NaN if unknown.
    pub mean_age_seconds: f64,
    /// Greatest age in collections.
    pub max_age_gcs: u32,
    /// Padding; 0.
    pub padding: u32,
}
