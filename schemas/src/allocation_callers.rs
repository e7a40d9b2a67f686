//! Table `allocation_callers`: the reverse call graph of each type, in preorder; types in the order of `type_id`,
//! callers of one function by `estimated_bytes` descending, then by `function_id`. Only in runs of `heaplake replay`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "allocation_callers.parquet";

/// The columns: a node of depth 0 is a function that allocates objects of the type, its children are the callers from
/// which it does so, and so on. `node` counts the rows, `parent` is that of the function which is called (null at depth
/// 0); `samples` are sampled stacks through the node, `sampled_bytes` the sizes of their objects, `estimated_bytes` and
/// `estimated_count` those of all objects that they stand for, and their number.
#[must_use]
pub fn schema() -> SchemaRef {
    let id = |name, nullable| Field::new(name, DataType::UInt32, nullable);
    let number = |name| Field::new(name, DataType::UInt64, false);
    Arc::new(Schema::new(vec![
        id("node", false),
        id("parent", true),
        id("depth", false),
        id("type_id", false),
        id("function_id", false),
        number("samples"),
        number("sampled_bytes"),
        number("estimated_bytes"),
        number("estimated_count"),
    ]))
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CallerRow {
    /// Number of the node; `u32::MAX` in `parent` is none.
    pub node: u32,
    /// The node of the function that is called.
    pub parent: u32,
    /// Calls between it and the allocation.
    pub depth: u32,
    /// Type allocated.
    pub type_id: u32,
    /// The function.
    pub function_id: u32,
    /// Always 0.
    pub padding: u32,
    /// Sampled stacks.
    pub samples: u64,
    /// Sizes of their objects, bytes.
    pub sampled_bytes: u64,
    /// Sizes of all objects that they stand for, bytes.
    pub estimated_bytes: u64,
    /// How many these are.
    pub estimated_count: u64,
}
