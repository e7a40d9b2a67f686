//! Table `object_generations`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_generations",
    file: "object_generations.parquet",
    row: "object and generation that it was in for some time",
    order: "`object`, then time",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &[
        "The rows of an object follow its life from `allocated_at_gc` to `died_at_gc` of `object_tracks`. After a collection \
         it was in the generation of the row with `since_gc` at or before this collection and `until_gc` behind it, in the \
         order of `collections`.",
        "Generations are those of the ranges that collections report. An object outside all ranges, as literals of a module \
         are, has no row, nor has one that an anomaly lost.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("object", Type::UInt32, "Object, as in `object_tracks`"),
    required("generation", Type::Utf8, "Generation, as in `object_lifetimes`"),
    required("since_gc", Type::UInt32, "Last collection before the object was in this generation; 0 for none"),
    optional(
        "until_gc",
        Type::UInt32,
        "Collection with which it left it or that reclaimed it; null if it is in it at the end",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on; `u32::MAX` means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GenerationRow {
    /// Number of the allocation.
    pub object: u32,
    /// Index into [`GENERATIONS`](crate::object_lifetimes::GENERATIONS).
    pub generation: u32,
    /// The last collection before.
    pub since_gc: u32,
    /// The first collection after.
    pub until_gc: u32,
}
