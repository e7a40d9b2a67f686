//! Table `allocation_types`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "allocation_types",
    file: "allocation_types.parquet",
    row: "allocated type",
    order: "`bytes` descending, `type_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "`bytes` is the best value known. The `estimated_` columns use the sample alone, for comparison. How often \
         the intervals hold: [limits](limits.md#sampling).",
        "A snapshot has a row per class with live objects that have a stack; `sampled_count` and `live_count` count \
         these, nothing is estimated. `type_id` is `class_id`, rows are sorted by `live_bytes`, and \
         `live_allocations` has the same by stack.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("type_id", Type::UInt32, "Type number in this run, in order of first occurrence"),
    required("type", Type::Utf8, "Name, as the runtime writes it"),
    optional("allocated_count", Type::Int64, "Allocated objects, exact; null for snapshots and samples by bytes"),
    optional("bytes", Type::Int64, "`exact_bytes` if known, else `estimated_bytes`; null without both"),
    required("sampled_count", Type::Int64, "Objects sampled with size and stack"),
    required("sampled_bytes", Type::Int64, "Their sizes"),
    optional("estimated_bytes", Type::Int64, "All bytes, from sampled sizes and exact count; null without samples"),
    optional(
        "estimated_low_bytes",
        Type::Int64,
        "Lower end of its 95 % interval; null if the trace is a sample, except by steps of bytes",
    ),
    optional("estimated_high_bytes", Type::Int64, "Upper end; null too"),
    optional("exact_bytes", Type::Int64, "Sum of all sizes; null if the trace lacks some"),
    optional("live_count", Type::Int64, "Objects alive at the end; null if deaths are unknown"),
    optional("live_bytes", Type::Int64, "Their sizes; null too"),
    optional(
        "interval",
        Type::UInt32,
        "Mean number of objects per sampled object, for frequent types; null if the trace is a sample",
    ),
    SIGNATURE,
    FINGERPRINT,
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it. [`ABSENT`](crate::replay::ABSENT) means null in optional numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TypeRow {
    /// Type number.
    pub type_id: u32,
    /// Mean interval between sampled objects; 0 for none.
    pub interval: u32,
    /// Objects allocated; optional.
    pub allocated_count: u64,
    /// Best known sum of all sizes, bytes; optional.
    pub bytes: u64,
    /// Objects sampled.
    pub sampled_count: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// Estimate of all sizes, bytes; optional.
    pub estimated_bytes: u64,
    /// Lower end of its 95 % interval; optional.
    pub low_bytes: u64,
    /// Upper end; optional.
    pub high_bytes: u64,
    /// All sizes, bytes; optional.
    pub exact_bytes: u64,
    /// Objects alive at the end; optional.
    pub live_count: u64,
    /// Their sizes, bytes; optional.
    pub live_bytes: u64,
}
