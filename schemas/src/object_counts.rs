//! Table `object_counts`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_counts",
    file: "object_counts.parquet",
    row: "class whose living objects a recording of Java counts, for each count",
    order: "of the recording",
    runs: Runs::Replay,
    condition: Some("for recordings with object counts"),
    notes: &["The runtime writes the classes that make half a percent of the heap or more."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection that counted, as in `collections`"),
    required("after_gc", Type::Boolean, "Whether the program's collection counted, rather than one for this purpose"),
    optional("counted_at", Type::Timestamp, "When; null if the recording does not tell"),
    required("type_id", Type::UInt32, "Type, numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Its name"),
    required("count", Type::Int64, "Objects alive"),
    required("bytes", Type::Int64, "Sum of their sizes"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ObjectCountRow {
    /// The collection.
    pub gc: u32,
    /// Number of the type.
    pub type_id: u32,
    /// Microseconds since 1970; `i64::MIN` for none.
    pub counted_at_us: i64,
    /// Objects.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// 1 if the program's collection counted.
    pub after_gc: u32,
    /// Always 0.
    pub padding: u32,
}
