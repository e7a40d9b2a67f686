//! Table `threads`: one row per thread, sorted by `node`. Only for formats that know of threads.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "threads.parquet";

/// The columns: `node` is that of the thread's object, `name` its name; `frames` its stack, the innermost frame first, null
/// where a frame is not known; `locals` is the number of references from its stack; `retained_bytes` as in `nodes`.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("node", DataType::UInt32, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("frames", DataType::List(Arc::new(frame())), false),
        Field::new("locals", DataType::UInt64, false),
        Field::new("retained_bytes", DataType::UInt64, false),
    ]))
}

/// An element of `frames`.
#[must_use]
pub fn frame() -> Field {
    Field::new("item", DataType::Utf8, true)
}
