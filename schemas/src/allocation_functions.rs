//! Table `allocation_functions`: one row per function on the stack of a sampled allocation, sorted by
//! `inclusive_bytes` descending, then by `function_id`. Only in runs of `heaplake replay`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "allocation_functions.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `function_id` | number of the function in this run |
/// | `function` | `Namespace.Type::Method` |
/// | `signature` | what tells overloads apart, where the trace has it |
/// | `module`, `file`, `line` | where the trace has them |
/// | `inclusive_count`, `inclusive_bytes` | objects allocated while the function was on the stack, a recursive one counted once per stack; estimated from the sample, exact at interval 1 |
/// | `exclusive_count`, `exclusive_bytes` | those that it allocated itself |
/// | `inclusive_samples`, `exclusive_samples` | stacks on which that rests |
#[must_use]
pub fn schema() -> SchemaRef {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    let number = |name| Field::new(name, DataType::UInt64, false);
    Arc::new(Schema::new(vec![
        Field::new("function_id", DataType::UInt32, false),
        text("function", false),
        text("signature", true),
        text("module", true),
        text("file", true),
        Field::new("line", DataType::UInt32, true),
        number("inclusive_count"),
        number("inclusive_bytes"),
        number("exclusive_count"),
        number("exclusive_bytes"),
        number("inclusive_samples"),
        number("exclusive_samples"),
    ]))
}

/// One row, as the stage that replays a trace hands it on. Texts are numbers of [`STRINGS`](crate::replay::STRINGS),
/// `u32::MAX` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct FunctionRow {
    /// Number of the function.
    pub function_id: u32,
    /// Its name.
    pub name: u32,
    /// Its signature.
    pub signature: u32,
    /// Its module.
    pub module: u32,
    /// Source file.
    pub file: u32,
    /// Line in it; `u32::MAX` for none.
    pub line: u32,
    /// Objects allocated with it on the stack.
    pub inclusive_count: u64,
    /// Their bytes.
    pub inclusive_bytes: u64,
    /// Objects that it allocated itself.
    pub exclusive_count: u64,
    /// Their bytes.
    pub exclusive_bytes: u64,
    /// Sampled stacks that it is on.
    pub inclusive_samples: u64,
    /// Sampled stacks that it is at the top of.
    pub exclusive_samples: u64,
}
