//! Table `object_lifetimes`: one row per type and generation in which its objects were reclaimed, sorted by `type_id`,
//! then by generation. Only in runs of `heaplake replay` on traces that report moves and survivors.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "object_lifetimes.parquet";

/// Names of the generations, by their codes in scratch columns. The last one stands for objects that live at the end.
pub const GENERATIONS: [&str; 6] = ["0", "1", "2", "large", "pinned", "alive"];

/// The code of objects that live at the end of the trace.
pub const ALIVE: usize = GENERATIONS.len() - 1;

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `type_id`, `type` | as in `allocation_types` |
/// | `generation` | where its objects were when they were reclaimed, or `alive` |
/// | `count`, `bytes` | objects and their sizes, exact |
/// | `mean_age_gcs`, `max_age_gcs` | collections from the allocation to the death, that of the death counted |
/// | `mean_age_seconds` | the same as time; null where the trace has no times |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("type_id", DataType::UInt32, false),
        Field::new("type", DataType::Utf8, false),
        Field::new("generation", DataType::Utf8, false),
        Field::new("count", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("mean_age_gcs", DataType::Float64, false),
        Field::new("max_age_gcs", DataType::UInt32, false),
        Field::new("mean_age_seconds", DataType::Float64, true),
    ]))
}

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
