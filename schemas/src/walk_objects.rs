//! Table `walk_objects`: one row per object of every walk of the heap, by collection and address. Only with
//! `heaplake replay --tracks` on traces that report moves and survivors and have such walks.
//!
//! `object` is the same in all walks, whatever became of the address, so two walks of one process are joined by it.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "walk_objects.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `gc` | the collection at whose end the heap was walked, as in `collections` |
/// | `address` | where the object is then; the `id` of its node where that walk is analysed as a snapshot |
/// | `object` | number of its allocation, as in `object_tracks`; null for one that the trace has no allocation of |
/// | `type_id`, `bytes` | its type, as in `allocation_types`, and its size; null likewise |
#[must_use]
pub fn schema() -> SchemaRef {
    let id = |name, nullable| Field::new(name, DataType::UInt32, nullable);
    let number = |name, nullable| Field::new(name, DataType::UInt64, nullable);
    Arc::new(Schema::new(vec![
        id("gc", false),
        number("address", false),
        id("object", true),
        id("type_id", true),
        number("bytes", true),
    ]))
}

/// One row, as the stage that replays a trace hands it on; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) stand for
/// null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WalkRow {
    /// Where the object is.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The collection.
    pub gc: u32,
    /// Number of its allocation.
    pub object: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Always 0.
    pub padding: u32,
}
