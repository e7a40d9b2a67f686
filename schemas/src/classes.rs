//! Table `classes`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "classes",
    file: "classes.parquet",
    row: "class with at least one instance",
    order: "`retained_bytes` descending, `class_id`",
    runs: Runs::Analyze,
    condition: None,
    notes: &["V8: only nodes with a shallow size above 0 count. Unreachable nodes never count."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("class_id", Type::UInt32, "Class number, as in `nodes`"),
    required("class", Type::Utf8, "Name; not unique"),
    required("class_key", Type::Utf8, "Name with source location, class loader or module"),
    required("count", Type::Int64, "Instances"),
    required("self_bytes", Type::Int64, "Their `self_bytes`"),
    required("shallow_bytes", Type::Int64, "Their sizes"),
    optional("native_bytes", Type::Int64, "Their native sizes; null if unknown"),
    required(
        "retained_bytes",
        Type::Int64,
        "`retained_bytes` of those that no other instance dominates, so nothing counts twice",
    ),
    required("max_retained_bytes", Type::Int64, "Largest `retained_bytes` of an instance"),
    optional(
        "distance",
        Type::Int32,
        "Least `distance`, from 100,000,000 if only the runtime leads to them; null if one has none",
    ),
    optional("duplicate_count", Type::Int64, "Instances in fully compared sets of duplicates; null if not searched"),
    optional("duplicate_bytes", Type::Int64, "Their shallow sizes; null too"),
    required(
        "big",
        Type::Boolean,
        "Over `--min-retained` or `--min-count`, matches `--class`, and not part of the runtime",
    ),
    SIGNATURE,
    FINGERPRINT,
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the stage that computes classes writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ClassRow {
    /// Row of the class table.
    pub class_id: u32,
    /// Least distance; [`NO_DISTANCE`](crate::scratch::NO_DISTANCE) if a member has none.
    pub distance: i32,
    /// Nodes of non-zero shallow size.
    pub count: u64,
    /// Sum of their sizes as the input states them, bytes.
    pub self_bytes: u64,
    /// Sum of their shallow sizes, bytes.
    pub shallow_bytes: u64,
    /// Sum of their native sizes, bytes.
    pub native_bytes: u64,
    /// Retained size without double counting, bytes.
    pub retained_bytes: u64,
    /// Largest retained size of one member, bytes.
    pub max_retained_bytes: u64,
}
