//! Table `snapshot`.

use crate::column::{ColumnSchema, Type, Unit, bytes, column, count, flag, seconds, text, time};
use crate::table::{TableSchema, table};
use arrow::datatypes::Fields;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "run, so exactly one",
    notes: &[
        "`wall_seconds`, `peak_rss_bytes` and `stages` are measured: only this table differs between runs on the same \
         input.",
    ],
    columns: &[
        text("source", "Input, as named on the command line"),
        text("format", "Input format"),
        text("format_version", "Its version; null if not stated").or_null(),
        bytes("input_bytes", "Input size as stored"),
        bytes("content_bytes", "Input size after decompression"),
        text("input_hash", "XXH3-128 of the input as stored, hexadecimal"),
        count("node_count", "Nodes"),
        count("edge_count", "Edges"),
        count("root_count", "References from roots"),
        count("string_count", "Strings of the input"),
        bytes("shallow_bytes", "Their shallow sizes"),
        bytes("native_bytes", "Their native sizes; null if unknown").or_null(),
        count("reachable_count", "Reachable nodes"),
        bytes("reachable_bytes", "Their shallow sizes"),
        count("unreachable_count", "Unreachable nodes"),
        bytes("unreachable_bytes", "Their shallow sizes"),
        time(
            "captured_at",
            "When the snapshot was taken, from the input, else when its file was modified; null without \
         both",
        )
        .or_null(),
        text("captured_at_source", "`input` or `file`; null with `captured_at`").or_null(),
        text(
            "referents",
            "Whether weak, soft and phantom references `hold` or `skip` their referents; null if the format \
         has no choice",
        )
        .or_null(),
        flag("partial", "Whether the input is damaged and covered only in part (`--salvage`)"),
        text("partial_reason", "Left-out parts of the input; null if not partial").or_null(),
        column("labels", Type::Map, Unit::Text, "Command-line labels"),
        text("options", "Options that shaped the result, JSON"),
        text("heaplake_version", "heaplake version"),
        seconds("wall_seconds", "Elapsed time of the analysis"),
        bytes("peak_rss_bytes", "Peak resident set of the process; null if unknown").or_null(),
        column("stages", Type::List(&STAGE), Unit::Fields, "Costs of each stage"),
    ],
    ..table!("snapshot")
};

const STAGE: Type = Type::Struct(STAGE_FIELDS);

const STAGE_FIELDS: &[ColumnSchema] = &[
    text("name", "Stage name"),
    seconds("seconds", "Elapsed time"),
    count("rows", "Nodes, edges, sets, … processed"),
    bytes("spilled_bytes", "Bytes written to temporary files"),
];

/// Fields of one entry of `stages`.
pub fn stage_fields() -> Fields {
    crate::column::fields(STAGE_FIELDS)
}
