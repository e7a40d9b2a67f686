//! Table `object_generations`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_generations",
    file: "object_generations.parquet",
    row: "stay of an object in a generation",
    order: "`object`, time",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &[
        "The rows of an object span its life, from `allocated_at_gc` to `died_at_gc` of `object_tracks`. After a \
         collection it is in the row with `since_gc` at or before it and `until_gc` after it, in the order of \
         `collections`.",
        "Objects outside all reported ranges, such as literals of a module, and objects that an anomaly lost have no \
         rows.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("object", Type::UInt32, "Object, as in `object_tracks`"),
    required("generation", Type::Utf8, "As in `object_lifetimes`"),
    required("since_gc", Type::UInt32, "Last collection before it entered the generation; 0 for none"),
    optional("until_gc", Type::UInt32, "Collection that moved or reclaimed it; null if there at the end"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it; `u32::MAX` means null.
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
