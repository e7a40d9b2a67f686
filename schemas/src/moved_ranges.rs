//! Table `moved_ranges`: one row per range of objects that a collection moved, in the order of collections, then by address.
//! Only with `heaplake replay --tracks`. An address at some moment follows through it to the end, and back to the
//! beginning.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "moved_ranges.parquet";

/// The columns: what lay at `from` and up to `bytes` behind it lies at `to` after collection `gc`.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("gc", DataType::UInt32, false),
        Field::new("from", DataType::UInt64, false),
        Field::new("to", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
    ]))
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct MoveRow {
    /// The runtime's number of the collection.
    pub gc: u32,
    /// Always 0.
    pub padding: u32,
    /// Address before.
    pub from: u64,
    /// Address after.
    pub to: u64,
    /// Length.
    pub bytes: u64,
}
