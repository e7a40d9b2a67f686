//! Table `classes`: one row per class that has at least one node of non-zero shallow size, sorted by
//! `retained_bytes` descending, then by `class_id`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "classes.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `class_id` | as in `nodes` |
/// | `class` | name for people |
/// | `class_key` | name with what tells equal names apart (source location, loader) |
/// | `count` | nodes of non-zero shallow size |
/// | `self_bytes`, `shallow_bytes`, `native_bytes` | sums over those nodes |
/// | `retained_bytes` | sum over those nodes that no node of the same class dominates: nothing counts twice |
/// | `max_retained_bytes` | largest retained size of one of them |
/// | `distance` | least distance; null when a member has none |
/// | `duplicate_count`, `duplicate_bytes` | nodes in sets of duplicates and their shallow sizes; sets whose references nobody looked into do not count; null where duplicates were not looked for |
/// | `big` | over the thresholds of big classes |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("class_id", DataType::UInt32, false),
        Field::new("class", DataType::Utf8, false),
        Field::new("class_key", DataType::Utf8, false),
        Field::new("count", DataType::UInt64, false),
        Field::new("self_bytes", DataType::UInt64, false),
        Field::new("shallow_bytes", DataType::UInt64, false),
        Field::new("native_bytes", DataType::UInt64, true),
        Field::new("retained_bytes", DataType::UInt64, false),
        Field::new("max_retained_bytes", DataType::UInt64, false),
        Field::new("distance", DataType::Int32, true),
        Field::new("duplicate_count", DataType::UInt64, true),
        Field::new("duplicate_bytes", DataType::UInt64, true),
        Field::new("big", DataType::Boolean, true),
    ]))
}

/// One row, as the stage that computes classes hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ClassRow {
    /// Row of the class table.
    pub class_id: u32,
    /// Least distance; [`NO_DISTANCE`](crate::scratch::NO_DISTANCE) when a member has none.
    pub distance: i32,
    /// Nodes of non-zero shallow size.
    pub count: u64,
    /// Sum of their sizes as the file states them, bytes.
    pub self_bytes: u64,
    /// Sum of their shallow sizes, bytes.
    pub shallow_bytes: u64,
    /// Sum of their native sizes, bytes.
    pub native_bytes: u64,
    /// Retained size without double counting, bytes.
    pub retained_bytes: u64,
    /// Largest retained size of one member, bytes.
    pub max_retained_bytes: u64,
}
