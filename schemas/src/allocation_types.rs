//! Table `allocation_types`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "allocation_types",
    file: "allocation_types.parquet",
    row: "type of which the trace reports allocations",
    order: "`bytes` descending, then `type_id`",
    runs: Runs::Both,
    condition: Some("for traces, and for snapshots of V8 with allocation stacks"),
    notes: &[
        "`bytes` is what is known best. The columns `estimated_` say what the sample alone tells, also where the trace has \
         each size, so that the two can be compared. How often the intervals hold: [limits](limits.md#sampling).",
        "A snapshot knows the classes of those objects alone that are still alive: the rows are the classes with objects \
         that have a stack, `sampled_count` and `live_count` count these, and nothing is estimated. `type_id` is \
         `class_id`, rows are sorted by `live_bytes`, and `live_allocations` has the same by stack.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("type_id", Type::UInt32, "Number of the type in this run, in order of first occurrence"),
    required("type", Type::Utf8, "Name, as the runtime writes it"),
    optional(
        "allocated_count",
        Type::Int64,
        "Objects allocated, exact; null if the trace itself is a sample by bytes, and of snapshots",
    ),
    optional(
        "bytes",
        Type::Int64,
        "Bytes of all objects: `exact_bytes` where the trace gives each size, else `estimated_bytes`; null if neither is known",
    ),
    required("sampled_count", Type::Int64, "Objects whose size and stack were taken"),
    required("sampled_bytes", Type::Int64, "Sum of their sizes"),
    optional(
        "estimated_bytes",
        Type::Int64,
        "Bytes of all objects, from the sampled sizes and the exact count alone; null if nothing was sampled",
    ),
    optional(
        "estimated_low_bytes",
        Type::Int64,
        "Lower end of the 95 % interval of `estimated_bytes`; null if the trace itself is a sample, unless by steps of bytes",
    ),
    optional("estimated_high_bytes", Type::Int64, "Upper end; null likewise"),
    optional("exact_bytes", Type::Int64, "Sum of all sizes; null if the trace does not give each"),
    optional("live_count", Type::Int64, "Objects alive at the end; null if deaths are unknown"),
    optional("live_bytes", Type::Int64, "Sum of their sizes; null likewise"),
    optional(
        "interval",
        Type::UInt32,
        "Mean number of objects per sampled object of a type with many; null if the trace itself is a sample",
    ),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on. In optional numbers, [`ABSENT`](crate::replay::ABSENT)
/// means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TypeRow {
    /// Number of the type.
    pub type_id: u32,
    /// Mean interval between sampled objects; 0 for none.
    pub interval: u32,
    /// Objects allocated; optional.
    pub allocated_count: u64,
    /// All sizes, bytes, as well as they are known; optional.
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
