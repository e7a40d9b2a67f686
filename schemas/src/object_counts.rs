//! Table `object_counts`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "object_counts",
    file: "object_counts.parquet",
    row: "class in an object count of a recording of Java",
    order: "position in the recording",
    runs: Runs::Replay,
    condition: Some("for recordings with object counts"),
    notes: &["The runtime omits classes below half a percent of the heap."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "Collection that counted"),
    required("after_gc", Type::Boolean, "Whether a collection of the program counted, not an extra one"),
    optional("counted_at", Type::Timestamp, "When; null if not recorded"),
    required("type_id", Type::UInt32, "Numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Name"),
    required("count", Type::Int64, "Live objects"),
    required("bytes", Type::Int64, "Their sizes"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ObjectCountRow {
    /// The collection.
    pub gc: u32,
    /// Type number.
    pub type_id: u32,
    /// Microseconds since 1970; `i64::MIN` for none.
    pub counted_at_us: i64,
    /// Objects.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
    /// 1 if the program's own collection counted.
    pub after_gc: u32,
    /// Padding; 0.
    pub padding: u32,
}
