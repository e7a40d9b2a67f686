//! Table `allocation_types`: one row per type of which a trace reports allocations, sorted by `estimated_bytes`
//! descending, then by `type_id`. Only in runs of `heaplake replay`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "allocation_types.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `type_id` | number of the type in this run, in the order in which types first occur |
/// | `type` | name, as the runtime writes it |
/// | `allocated_count` | objects allocated, exact; null where the trace has only a sample by bytes |
/// | `sampled_count`, `sampled_bytes` | objects whose size and stack were taken, and their sizes |
/// | `estimated_bytes` | bytes of all objects: the mean sampled size times the exact count; null without a sample |
/// | `estimated_low_bytes`, `estimated_high_bytes` | 95 % interval of it; null for fewer than two sampled objects |
/// | `exact_bytes` | sum of all sizes; null where the trace does not tell each |
/// | `live_count`, `live_bytes` | objects alive at the end; null where deaths are not known |
/// | `interval` | mean number of objects per sampled one; null where the trace is a sample itself |
#[must_use]
pub fn schema() -> SchemaRef {
    let number = |name, nullable| Field::new(name, DataType::UInt64, nullable);
    Arc::new(Schema::new(vec![
        Field::new("type_id", DataType::UInt32, false),
        Field::new("type", DataType::Utf8, false),
        number("allocated_count", true),
        number("sampled_count", false),
        number("sampled_bytes", false),
        number("estimated_bytes", true),
        number("estimated_low_bytes", true),
        number("estimated_high_bytes", true),
        number("exact_bytes", true),
        number("live_count", true),
        number("live_bytes", true),
        Field::new("interval", DataType::UInt32, true),
    ]))
}

/// One row, as the stage that replays a trace hands it on. Of the optional numbers, [`ABSENT`](crate::replay::ABSENT)
/// stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TypeRow {
    /// Number of the type.
    pub type_id: u32,
    /// Mean interval between sampled objects; 0 for none.
    pub interval: u32,
    /// Objects allocated; optional.
    pub allocated_count: u64,
    /// Objects sampled.
    pub sampled_count: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// Estimate of all sizes, bytes; optional.
    pub estimated_bytes: u64,
    /// Lower end of its 95 % interval; optional.
    pub low_bytes: u64,
    /// Upper end; optional.
    pub high_bytes: u64,
    /// All sizes, bytes; optional.
    pub exact_bytes: u64,
    /// Objects alive at the end; optional.
    pub live_count: u64,
    /// Their sizes, bytes; optional.
    pub live_bytes: u64,
}
