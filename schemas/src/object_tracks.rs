//! Table `object_tracks`: one row per allocated object, in the order of allocation. Only with `heaplake replay --tracks`
//! on traces that report moves and survivors.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "object_tracks.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `object` | number of the allocation, from 0 |
/// | `type_id`, `bytes` | its type, as in `allocation_types`, and its size |
/// | `allocated_at_gc` | the last collection that had ended before; 0 for none |
/// | `stack` | the `node` of `allocation_callees` that allocated it; null where its stack was not taken |
/// | `first_address`, `last_address` | where it was allocated, and where it is at the end or was when it died; the last is null for an object that anomalies lost |
/// | `moves` | how often its address changed |
/// | `died_at_gc`, `died_in_generation` | the collection that reclaimed it, and the generation that it was in; null for one that lives, or is lost |
#[must_use]
pub fn schema() -> SchemaRef {
    let id = |name, nullable| Field::new(name, DataType::UInt32, nullable);
    let number = |name, nullable| Field::new(name, DataType::UInt64, nullable);
    Arc::new(Schema::new(vec![
        id("object", false),
        id("type_id", false),
        number("bytes", false),
        id("allocated_at_gc", false),
        id("stack", true),
        number("first_address", false),
        number("last_address", true),
        id("moves", false),
        id("died_at_gc", true),
        Field::new("died_in_generation", DataType::Utf8, true),
    ]))
}

/// One row, as the stage that replays a trace hands it on; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) stand for
/// null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TrackRow {
    /// Size.
    pub bytes: u64,
    /// Where it was allocated.
    pub first_address: u64,
    /// Where it is or was last.
    pub last_address: u64,
    /// Number of the allocation.
    pub object: u32,
    /// Number of the type.
    pub type_id: u32,
    /// The last collection before.
    pub allocated_at_gc: u32,
    /// Node of the call tree.
    pub stack: u32,
    /// Changes of its address.
    pub moves: u32,
    /// The collection that reclaimed it.
    pub died_at_gc: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// Always 0.
    pub padding: u32,
}
