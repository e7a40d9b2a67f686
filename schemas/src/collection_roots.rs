//! Table `collection_roots`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "collection_roots",
    file: "collection_roots.parquet",
    row: "object that a root of some kind holds at a collection",
    order: "collection, `address`, `kind` (stack, finalizer, handle, other), `flags`, `root_id`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &["Addresses are those at the end of the collection, after moves."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection, as in `collections`"),
    required("address", Type::UInt64, "What the root refers to; 0 for an empty one"),
    required("kind", Type::Utf8, "`stack`, `finalizer`, `handle` or `other`"),
    required(
        "flags",
        Type::UInt32,
        "Sum of 1 (pinned), 2 (weak: does not keep the object alive), 4 (may point inside the object), 8 (reference-counted)",
    ),
    required(
        "root_id",
        Type::UInt64,
        "What the runtime says of the root: the handle, or the function of a stack; 0 for nothing",
    ),
    required("count", Type::Int64, "Roots that are equal in all of this"),
    optional("object", Type::UInt32, "Object, as in `object_tracks`; null if the trace has no allocation of it"),
    optional("type_id", Type::UInt32, "Type, as in `allocation_types`; null likewise"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of kinds.
pub const KINDS: [&str; 4] = ["stack", "finalizer", "handle", "other"];

/// One row, as the stage that replays a trace hands it on; `u32::MAX` means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RootRow {
    /// What it refers to.
    pub address: u64,
    /// What the runtime says of it.
    pub id: u64,
    /// How many there are.
    pub count: u64,
    /// The runtime's number of the collection.
    pub gc: u32,
    /// Index into [`KINDS`].
    pub kind: u32,
    /// See the table.
    pub flags: u32,
    /// Number of the object's allocation.
    pub object: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Always 0.
    pub padding: u32,
}
