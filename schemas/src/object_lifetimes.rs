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
    order: "`type_id`, then `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with moves and survivors"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("type_id", Type::UInt32, "Type, as in `allocation_types`"),
    required("type", Type::Utf8, "Its name"),
    required(
        "generation",
        Type::Utf8,
        "Generation that reclaimed the objects: `0`, `1`, `2`, `large`, `pinned`; or `alive` at the end",
    ),
    required("count", Type::Int64, "Objects, exact"),
    required("bytes", Type::Int64, "Sum of their sizes, exact"),
    required(
        "mean_age_gcs",
        Type::Float64,
        "Mean number of collections from allocation to death, the last one included",
    ),
    required("max_age_gcs", Type::Int64, "Largest such number"),
    optional("mean_age_seconds", Type::Float64, "Mean age, seconds; null if the trace has no times"),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of the generations, by their codes in scratch columns. The last one is for objects that are alive at the
/// end.
pub const GENERATIONS: [&str; 6] = ["0", "1", "2", "large", "pinned", "alive"];

/// The code of objects that are alive at the end of the trace.
pub const ALIVE: usize = GENERATIONS.len() - 1;

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LifetimeRow {
    /// Number of the type.
    pub type_id: u32,
    /// Index into [`GENERATIONS`].
    pub generation: u32,
    /// Objects.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// Mean age in collections.
    pub mean_age_gcs: f64,
    /// Mean age in seconds; not a number where it is not known.
    pub mean_age_seconds: f64,
    /// Greatest age in collections.
    pub max_age_gcs: u32,
    /// Always 0.
    pub padding: u32,
}
