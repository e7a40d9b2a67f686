//! Table `duplicate_members`: one row per member of a set of duplicate instances, sorted by `set`, then `node`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "duplicate_members.parquet";

/// The columns: the set, as in `duplicate_sets`, and the node, as in `nodes`.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("set", DataType::UInt32, false), Field::new("node", DataType::UInt32, false)]))
}
