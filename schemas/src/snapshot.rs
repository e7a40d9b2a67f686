//! Table `snapshot`.

use crate::table::{self, ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::{Fields, SchemaRef};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "snapshot",
    file: "snapshot.parquet",
    row: "run, so exactly one",
    order: "",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "`wall_seconds`, `peak_rss_bytes` and `stages` are measured: only this table differs between runs on the same \
         input.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("source", Type::Utf8, "Input, as named on the command line"),
    required("format", Type::Utf8, "Input format"),
    optional("format_version", Type::Utf8, "Its version; null if not stated"),
    required("input_bytes", Type::Int64, "Input size as stored"),
    required("content_bytes", Type::Int64, "Input size after decompression"),
    required("input_hash", Type::Utf8, "XXH3-128 of the input as stored, hexadecimal"),
    required("node_count", Type::Int64, "Nodes"),
    required("edge_count", Type::Int64, "Edges"),
    required("root_count", Type::Int64, "References from roots"),
    required("string_count", Type::Int64, "Strings of the input"),
    required("shallow_bytes", Type::Int64, "Their shallow sizes"),
    optional("native_bytes", Type::Int64, "Their native sizes; null if unknown"),
    required("reachable_count", Type::Int64, "Reachable nodes"),
    required("reachable_bytes", Type::Int64, "Their shallow sizes"),
    required("unreachable_count", Type::Int64, "Unreachable nodes"),
    required("unreachable_bytes", Type::Int64, "Their shallow sizes"),
    optional(
        "captured_at",
        Type::Timestamp,
        "When the snapshot was taken, from the input, else when its file was modified; null without both",
    ),
    optional("captured_at_source", Type::Utf8, "`input` or `file`; null with `captured_at`"),
    optional(
        "referents",
        Type::Utf8,
        "Whether weak, soft and phantom references `hold` or `skip` their referents; null if the format has no choice",
    ),
    required("partial", Type::Boolean, "Whether the input is damaged and covered only in part (`--salvage`)"),
    optional("partial_reason", Type::Utf8, "What is left out; null if not partial"),
    required("labels", Type::Map, "Command-line labels"),
    required("options", Type::Utf8, "Options that shaped the result, JSON"),
    required("heaplake_version", Type::Utf8, "heaplake version"),
    required("wall_seconds", Type::Float64, "Elapsed time of the analysis"),
    optional("peak_rss_bytes", Type::Int64, "Peak resident set of the process; null if unknown"),
    required("stages", Type::List(&STAGE), "Costs of each stage"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const STAGE: Type = Type::Struct(STAGE_FIELDS);

const STAGE_FIELDS: &[ColumnSchema] = &[
    required("name", Type::Utf8, "Stage name"),
    required("seconds", Type::Float64, "Elapsed time"),
    required("rows", Type::Int64, "Nodes, edges, sets, … processed"),
    required("spilled_bytes", Type::Int64, "Bytes written to temporary files"),
];

/// Fields of one entry of `stages`.
pub fn stage_fields() -> Fields {
    table::fields(STAGE_FIELDS)
}
