//! Table `nodes`: one row per node, sorted by `node`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "nodes.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `node` | ordinal in input order, 0-based |
/// | `id` | the format's own object id or address |
/// | `kind` | node type as the format names it |
/// | `class`, `class_id` | class name for people; row of `classes` |
/// | `name` | the node's own name, string text where the node is a string |
/// | `self_bytes` | bytes, as the file states |
/// | `shallow_bytes` | bytes, owned parts counted with their owner |
/// | `native_bytes`, `retained_native_bytes` | bytes outside the managed heap; null where the file has no such field |
/// | `retained_bytes` | shallow bytes of everything that the node dominates, itself included |
/// | `distance` | edges from a user root; null where no search reached the node |
/// | `dominator` | `node` of the immediate dominator; the root's own is itself |
/// | `reachable` | false only where the format keeps garbage in its snapshots |
/// | `edge_count`, `retainer_count` | outgoing and incoming edges, of every kind |
/// | `detachedness` | 0 unknown, 1 attached, 2 detached |
/// | `trace_node` | node of the allocation trace tree |
/// | `script_id`, `line`, `column` | source location, 0-based |
/// | `duplicate_set` | set of duplicate instances; null where none was found or looked for. Sets of status `possible` count, too |
#[must_use]
pub fn schema() -> SchemaRef {
    let required = |name, data_type| Field::new(name, data_type, false);
    let optional = |name, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![
        required("node", DataType::UInt32),
        required("id", DataType::UInt64),
        required("kind", DataType::Utf8),
        required("class", DataType::Utf8),
        required("class_id", DataType::UInt32),
        optional("name", DataType::Utf8),
        required("self_bytes", DataType::UInt64),
        required("shallow_bytes", DataType::UInt64),
        optional("native_bytes", DataType::UInt64),
        required("retained_bytes", DataType::UInt64),
        optional("retained_native_bytes", DataType::UInt64),
        optional("distance", DataType::Int32),
        required("dominator", DataType::UInt32),
        required("reachable", DataType::Boolean),
        required("edge_count", DataType::UInt32),
        required("retainer_count", DataType::UInt32),
        required("detachedness", DataType::UInt8),
        optional("trace_node", DataType::UInt32),
        optional("script_id", DataType::UInt32),
        optional("line", DataType::UInt32),
        optional("column", DataType::UInt32),
        optional("duplicate_set", DataType::UInt32),
    ]))
}
