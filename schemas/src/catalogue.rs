//! The catalogue of a lake: one row per run, and one per table of a run.
//!
//! A copy of what the descriptions (`run.json`) say, for readers of many runs. `LAKE/catalogue/` has any number of
//! segments, folders with both tables; a run may be in several of them, or in none.

use crate::column::{ColumnSchema, Type, Unit, bytes, column, count, count_u32, flag, id, text, time};
use crate::table::{Runs, TableSchema, table};

/// Folder of the catalogue in a lake.
pub const FOLDER: &str = "catalogue";

const NOTES: &[&str] = &["A row describes the run at `path` as long as `run.json` there has `description_bytes` and \
     `description_changed_ns` (in a store, `description_tag`); otherwise the run was dropped or replaced, and its \
     description counts. `heaplake lake index` writes the catalogue anew."];

/// The runs.
pub const RUNS: TableSchema = TableSchema {
    row: "run",
    order: "`path`",
    runs: Runs::Catalogue,
    notes: NOTES,
    names_run: false,
    columns: RUN_COLUMNS,
    ..table!("catalogue_runs")
};

/// The tables of the runs.
pub const TABLES: TableSchema = TableSchema {
    row: "table of a run",
    order: "`run`, the order in `run.json`",
    runs: Runs::Catalogue,
    names_run: false,
    columns: TABLE_COLUMNS,
    ..table!("catalogue_tables")
};

/// Nanoseconds since 1970.
const fn nanoseconds(name: &'static str, meaning: &'static str) -> ColumnSchema {
    column(name, Type::Int64, Unit::Nanoseconds, meaning)
}

const RUN_COLUMNS: &[ColumnSchema] = &[
    text("path", "Folder of the run in the lake"),
    text("release", "Release"),
    text("snapshot", "Name of the run"),
    text("format", "Format of the input"),
    flag("replay", "Whether the run is a replayed trace"),
    time("captured_at", "When the input was captured; null if unknown").or_null(),
    column("labels", Type::Map, Unit::Text, "Labels"),
    count_u32("schema_version", "Version of the tables"),
    text("heaplake_version", "Version of heaplake that wrote the run"),
    text("source", "The input as the user named it"),
    bytes("input_bytes", "Bytes of the input as stored"),
    text("input_hash", "XXH3-128 of the input as stored"),
    count("node_count", "Nodes; of a replay, allocated objects"),
    count("edge_count", "Edges; 0 for a replay"),
    bytes("shallow_bytes", "Shallow size of the heap; of a replay, allocated bytes"),
    count_u32("high_findings", "Findings of high severity"),
    count_u32("medium_findings", "Findings of medium severity"),
    count_u32("low_findings", "Findings of low severity"),
    text("partial_reason", "Left-out parts of the input; null if not partial").or_null(),
    text("texts", "Texts of the heap in the run: `full`, `hash` or `none`; null for a replay").or_null(),
    bytes("table_bytes", "Bytes of all tables"),
    bytes("disk_bytes", "Bytes of all files of the run"),
    bytes("scratch_bytes", "Peak scratch space of the analysis"),
    bytes("peak_rss_bytes", "Peak resident memory of the analysis; null if unknown").or_null(),
    column("name_rules", Type::UInt64, Unit::Address, "Hash of the rules for names; 0 without rules"),
    text("identity", "Seal of `run.json`; of a run without one, a hash of it"),
    flag("sealed", "Whether `run.json` has a seal"),
    text("tables_folder", "In a store, folder of the tables in the run; else null").or_null(),
    text("night", "In a compacted lake, the partition of its small tables; else null").or_null(),
    text("packed_seal", "The seal of the run there; else null").or_null(),
    bytes("description_bytes", "Bytes of `run.json`"),
    nanoseconds("description_changed_ns", "When `run.json` was last changed; 0 in a store"),
    nanoseconds("folder_changed_ns", "When an entry of the folder was last added or removed; 0 in a store"),
    text("description_tag", "In a store, the tag (ETag) of `run.json`; else null").or_null(),
];

const TABLE_COLUMNS: &[ColumnSchema] = &[
    id("run", "Row in `catalogue_runs` of the segment"),
    text("file", "File name inside the run"),
    count("rows", "Rows"),
    bytes("bytes", "Bytes of the file"),
    column("xxh3_64", Type::UInt64, Unit::Address, "XXH3-64 of the file; null in runs of older versions").or_null(),
];
