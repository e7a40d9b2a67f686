//! Table `allocation_callees`: the call tree, in preorder; callees of one function by `inclusive_bytes` descending, then
//! by `function_id`. Only in runs of `heaplake replay`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "allocation_callees.parquet";

/// The columns: a node of depth 0 is the outermost function of some stack. `node` counts the rows, `parent` is the caller
/// (null at depth 0); counts and bytes are those of all objects that the sampled ones stand for, exact at interval 1.
#[must_use]
pub fn schema() -> SchemaRef {
    let id = |name, nullable| Field::new(name, DataType::UInt32, nullable);
    let number = |name| Field::new(name, DataType::UInt64, false);
    Arc::new(Schema::new(vec![
        id("node", false),
        id("parent", true),
        id("depth", false),
        id("function_id", false),
        number("inclusive_samples"),
        number("inclusive_bytes"),
        number("exclusive_samples"),
        number("exclusive_bytes"),
        number("inclusive_count"),
        number("exclusive_count"),
    ]))
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CalleeRow {
    /// Number of the node; `u32::MAX` in `parent` is none.
    pub node: u32,
    /// The caller's node.
    pub parent: u32,
    /// Callers above it.
    pub depth: u32,
    /// The function.
    pub function_id: u32,
    /// Sampled stacks through the node.
    pub inclusive_samples: u64,
    /// Bytes that they stand for.
    pub inclusive_bytes: u64,
    /// Sampled stacks that end in the node.
    pub exclusive_samples: u64,
    /// Bytes that they stand for.
    pub exclusive_bytes: u64,
    /// Objects that the former stand for.
    pub inclusive_count: u64,
    /// Objects that the latter stand for.
    pub exclusive_count: u64,
}
