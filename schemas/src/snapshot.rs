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
        "`wall_seconds`, `peak_rss_bytes` and `stages` are measurements, so the bytes of this table differ between two \
         runs on the same input. Those of all other tables do not.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("source", Type::Utf8, "The input, as the command line named it"),
    required("format", Type::Utf8, "Format of the input"),
    optional("format_version", Type::Utf8, "Its version; null if the input states none"),
    required("input_bytes", Type::Int64, "Size of the input as stored"),
    required("content_bytes", Type::Int64, "Size of the input after decompression"),
    required("input_hash", Type::Utf8, "XXH3-128 of the input as stored, hexadecimal"),
    required("node_count", Type::Int64, "Nodes"),
    required("edge_count", Type::Int64, "Edges"),
    required("root_count", Type::Int64, "References from roots"),
    required("string_count", Type::Int64, "Strings in the input"),
    required("shallow_bytes", Type::Int64, "Sum of `shallow_bytes` over all nodes"),
    optional("native_bytes", Type::Int64, "Sum of `native_bytes`; null if the input does not tell"),
    required("reachable_count", Type::Int64, "Reachable nodes"),
    required("reachable_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    required("unreachable_count", Type::Int64, "Unreachable nodes"),
    required("unreachable_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    optional(
        "captured_at",
        Type::Timestamp,
        "When the snapshot was taken, as the input says, or else when its file was last changed; null if neither is known",
    ),
    optional(
        "captured_at_source",
        Type::Utf8,
        "What `captured_at` comes from: `input` or `file`; null if that is null, as for standard input",
    ),
    optional(
        "referents",
        Type::Utf8,
        "Whether weak, soft and phantom references keep their referents alive: `hold` or `skip`; null if the format leaves no choice",
    ),
    required(
        "partial",
        Type::Boolean,
        "Whether the run covers only the readable part of a damaged input (`--salvage`)",
    ),
    optional("partial_reason", Type::Utf8, "What a partial run leaves out; null if it is not partial"),
    required("labels", Type::Map, "Labels from the command line"),
    required("options", Type::Utf8, "Options that shaped the result, JSON"),
    required("heaplake_version", Type::Utf8, "Version of heaplake that wrote the run"),
    required("wall_seconds", Type::Float64, "Elapsed time of the analysis, seconds"),
    optional("peak_rss_bytes", Type::Int64, "Largest resident set of the process; null if the system does not tell"),
    required("stages", Type::List(&STAGE), "What each stage took"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const STAGE: Type = Type::Struct(STAGE_FIELDS);

const STAGE_FIELDS: &[ColumnSchema] = &[
    required("name", Type::Utf8, "Name of the stage"),
    required("seconds", Type::Float64, "Elapsed time, seconds"),
    required("rows", Type::Int64, "What the stage worked on: nodes, edges, sets, …"),
    required("spilled_bytes", Type::Int64, "Bytes that it wrote to temporary files"),
];

/// Fields of one entry of `stages`.
#[must_use]
pub fn stage_fields() -> Fields {
    table::fields(STAGE_FIELDS)
}
