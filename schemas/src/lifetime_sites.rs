//! Table `lifetime_sites`: who allocates the objects that die in a generation. One row per allocating function, type and
//! generation, sorted by `bytes` descending, then by function, type and generation. Only in runs of `heaplake replay` on
//! traces that report stacks, moves and survivors.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "lifetime_sites.parquet";

/// The columns: `function` is the innermost one of the allocation's stack; `generation` as in `object_lifetimes`; `count`
/// and `bytes` are estimated from the sampled objects, exact at interval 1, and `samples` is how many these are.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("function_id", DataType::UInt32, false),
        Field::new("function", DataType::Utf8, false),
        Field::new("type_id", DataType::UInt32, false),
        Field::new("type", DataType::Utf8, false),
        Field::new("generation", DataType::Utf8, false),
        Field::new("count", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("samples", DataType::UInt64, false),
    ]))
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SiteRow {
    /// Number of the function.
    pub function_id: u32,
    /// Number of the type.
    pub type_id: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// Name of the function, in [`STRINGS`](crate::replay::STRINGS).
    pub function: u32,
    /// Objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sampled objects.
    pub samples: u64,
}
