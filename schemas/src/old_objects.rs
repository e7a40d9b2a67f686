//! Table `old_objects`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "old_objects",
    file: "old_objects.parquet",
    row: "object that a recording of Java sampled when it was allocated and that was alive later",
    order: "`sample`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    notes: &[
        "`path` leads from the root to the object: `Class.field` for a field, `Class[n]` for an element of an array. It \
         has no addresses and no indices, so equal paths of several samples are one leak. `old_object_chains` has each \
         step.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "Number of the sample, in the order of the recording"),
    required("type_id", Type::UInt32, "Type, numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Its name"),
    optional("address", Type::UInt64, "Where it was; null if the recording has no chain"),
    optional("allocated_at", Type::Timestamp, "When it was allocated; null if the recording does not tell"),
    optional("age_seconds", Type::Float64, "How old it was when the sample was written; null likewise"),
    optional("bytes", Type::Int64, "Its size; null before JDK 19"),
    optional("array_elements", Type::Int64, "Length of an array; null for others"),
    optional(
        "heap_used_bytes",
        Type::Int64,
        "Heap in use after the last collection before it was allocated; null likewise",
    ),
    optional("thread", Type::Utf8, "Thread that allocated it; null likewise"),
    optional("function", Type::Utf8, "Function that allocated it; null without a stack"),
    optional("stack", Type::Utf8, "Functions from the outermost one on, separated by `;`; null without a stack"),
    optional("description", Type::Utf8, "What the runtime says of it; null if nothing"),
    optional("root_system", Type::Utf8, "Part of the runtime that holds the root; null if no chain was found"),
    optional("root_type", Type::Utf8, "Kind of the root; null likewise"),
    optional("root_description", Type::Utf8, "What the runtime says of the root; null if nothing"),
    optional("path", Type::Utf8, "From the root to the object, in classes and fields; null if no chain was found"),
    required("chain_length", Type::Int64, "Objects that hold it one after the other, as far as they are in the chain"),
    required("chain_cut", Type::Boolean, "Whether the chain goes on behind what is told here"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on. Texts are positions among those of the recording;
/// `u32::MAX`, [`ABSENT`](crate::replay::ABSENT), `i64::MIN` and not a number mean null.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OldObjectRow {
    /// Number of the sample.
    pub sample: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Where it was.
    pub address: u64,
    /// Microseconds since 1970.
    pub allocated_at_us: i64,
    /// Seconds.
    pub age_seconds: f64,
    /// Its size, bytes.
    pub bytes: u64,
    /// Length of an array.
    pub array_elements: u64,
    /// Heap in use, bytes.
    pub heap_used_bytes: u64,
    /// Text.
    pub thread: u32,
    /// Text.
    pub function: u32,
    /// Text.
    pub stack: u32,
    /// Text.
    pub description: u32,
    /// Text.
    pub root_system: u32,
    /// Text.
    pub root_type: u32,
    /// Text.
    pub root_description: u32,
    /// Text.
    pub path: u32,
    /// Objects of the chain behind it.
    pub chain_length: u32,
    /// 1 if it goes on.
    pub chain_cut: u32,
}
