//! Table `collection_roots`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "collection_roots",
    file: "collection_roots.parquet",
    row: "object with roots of one kind at a collection",
    order: "collection, `address`, `kind` (stack, finalizer, handle, other), `flags`, `root_id`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &["Addresses are those after the collection."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection"),
    required("address", Type::UInt64, "Referenced object; 0 for an empty root"),
    required("kind", Type::Utf8, "`stack`, `finalizer`, `handle` or `other`"),
    required(
        "flags",
        Type::UInt32,
        "Sum of 1 (pinned), 2 (weak), 4 (may point inside the object), 8 (reference-counted)",
    ),
    required("root_id", Type::UInt64, "The runtime's id: handle, or function of a stack; 0 for none"),
    required("count", Type::Int64, "Equal roots"),
    optional("object", Type::UInt32, "Object, as in `object_tracks`; null if not in the trace"),
    optional("type_id", Type::UInt32, "Type; null too"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of kinds.
pub const KINDS: [&str; 4] = ["stack", "finalizer", "handle", "other"];

/// A row as the replay writes it; `u32::MAX` means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RootRow {
    /// Referenced object.
    pub address: u64,
    /// The runtime's id of the root.
    pub id: u64,
    /// Number of equal roots.
    pub count: u64,
    /// The runtime's number of the collection.
    pub gc: u32,
    /// Index into [`KINDS`].
    pub kind: u32,
    /// Flags, as in the table.
    pub flags: u32,
    /// Number of the object's allocation.
    pub object: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Padding; 0.
    pub padding: u32,
}
