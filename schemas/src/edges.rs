//! Table `edges`: one row per edge, sorted by `from`, then by position in the file. Written only on request.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "edges.parquet";

/// The columns: `from` and `to` are ordinals of `nodes`; an edge has a `name` or, where its kind is numbered, an
/// `index`; `essential` says whether it keeps its target alive (counts for dominators and retained sizes).
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("from", DataType::UInt32, false),
        Field::new("to", DataType::UInt32, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("index", DataType::UInt32, true),
        Field::new("essential", DataType::Boolean, false),
    ]))
}
