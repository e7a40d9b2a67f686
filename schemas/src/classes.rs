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
    order: "`retained_bytes` descending, then `class_id`",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "Nodes count if they have a shallow size above 0 (V8) or in any case (Java, .NET). Unreachable nodes do not count.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("class_id", Type::UInt32, "Number of the class, as in `nodes`"),
    required("class", Type::Utf8, "Name; several classes can have the same"),
    required("class_key", Type::Utf8, "Name with what tells equal names apart (source location, class loader, module)"),
    required("count", Type::Int64, "Instances"),
    required("self_bytes", Type::Int64, "Sum of their `self_bytes`"),
    required("shallow_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    optional("native_bytes", Type::Int64, "Sum of their `native_bytes`; null if the input does not tell"),
    required(
        "retained_bytes",
        Type::Int64,
        "Sum of `retained_bytes` over the instances that no other instance of the class dominates: nothing counts twice",
    ),
    required("max_retained_bytes", Type::Int64, "Largest `retained_bytes` of one instance"),
    optional(
        "distance",
        Type::Int32,
        "Least `distance` of the instances, 100,000,000 and more where only the runtime leads to all of them; null if one of them has none",
    ),
    optional(
        "duplicate_count",
        Type::Int64,
        "Instances in sets of duplicates, without sets whose references were not compared to the end; null if duplicates were not looked for",
    ),
    optional("duplicate_bytes", Type::Int64, "Sum of their `shallow_bytes`; null likewise"),
    required(
        "big",
        Type::Boolean,
        "Whether the class is big: over `--min-retained` or `--min-count`, fitting `--class`, and not a part of the runtime",
    ),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that computes classes hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ClassRow {
    /// Row of the class table.
    pub class_id: u32,
    /// Least distance; [`NO_DISTANCE`](crate::scratch::NO_DISTANCE) when a member has none.
    pub distance: i32,
    /// Nodes of non-zero shallow size.
    pub count: u64,
    /// Sum of their sizes as the file states them, bytes.
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
