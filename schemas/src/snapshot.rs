//! Table `snapshot`: one row, the run itself. The only table with measured columns (`wall_seconds`,
//! `peak_rss_bytes`, `stages`), so the only one whose bytes differ between two runs on the same input.

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "snapshot.parquet";

/// Fields of one entry of `stages`.
#[must_use]
pub fn stage_fields() -> Fields {
    Fields::from(vec![
        Field::new("name", DataType::Utf8, false),
        Field::new("seconds", DataType::Float64, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("spilled_bytes", DataType::UInt64, false),
    ])
}

/// The columns. `referents` says whether weak references hold (`hold`) or not (`skip`), where the format leaves the choice;
/// a `partial` run is on the readable part of a damaged input, `partial_reason` says what it leaves out. `input_bytes` and `input_hash` (XXH3-128, hexadecimal) are those of the file as stored,
/// `content_bytes` is the size after decompression; `options` is the JSON text of what shaped the result.
#[must_use]
pub fn schema() -> SchemaRef {
    let required = |name, data_type| Field::new(name, data_type, false);
    let optional = |name, data_type| Field::new(name, data_type, true);
    let entries = Field::new(
        "entries",
        DataType::Struct(Fields::from(vec![
            Field::new("keys", DataType::Utf8, false),
            Field::new("values", DataType::Utf8, true),
        ])),
        false,
    );
    Arc::new(Schema::new(vec![
        required("snapshot", DataType::Utf8),
        required("release", DataType::Utf8),
        required("source", DataType::Utf8),
        required("format", DataType::Utf8),
        optional("format_version", DataType::Utf8),
        required("input_bytes", DataType::UInt64),
        required("content_bytes", DataType::UInt64),
        required("input_hash", DataType::Utf8),
        required("node_count", DataType::UInt64),
        required("edge_count", DataType::UInt64),
        required("root_count", DataType::UInt64),
        required("string_count", DataType::UInt64),
        required("shallow_bytes", DataType::UInt64),
        optional("native_bytes", DataType::UInt64),
        required("reachable_count", DataType::UInt64),
        required("reachable_bytes", DataType::UInt64),
        required("unreachable_count", DataType::UInt64),
        required("unreachable_bytes", DataType::UInt64),
        optional("captured_at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        optional("referents", DataType::Utf8),
        required("partial", DataType::Boolean),
        optional("partial_reason", DataType::Utf8),
        required("labels", DataType::Map(Arc::new(entries), false)),
        required("options", DataType::Utf8),
        required("heaplake_version", DataType::Utf8),
        required("wall_seconds", DataType::Float64),
        optional("peak_rss_bytes", DataType::UInt64),
        required("stages", DataType::List(Arc::new(Field::new("item", DataType::Struct(stage_fields()), false)))),
    ]))
}
