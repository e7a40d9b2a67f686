//! Table `old_objects`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "old_objects",
    file: "old_objects.parquet",
    row: "old object sample in a recording of Java",
    order: "`sample`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    notes: &["`path` leads from the root to the object: `Class.field` for a field, `Class[n]` for an array element, \
         without addresses and indices, so equal paths are one leak. `old_object_chains` has each step."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "Sample number, in order of recording"),
    required("type_id", Type::UInt32, "Numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Name"),
    optional("address", Type::UInt64, "Its address; null without a chain"),
    optional("allocated_at", Type::Timestamp, "Allocation time; null if not recorded"),
    optional("age_seconds", Type::Float64, "Age when the sample was written; null too"),
    optional("bytes", Type::Int64, "Its size; null before JDK 19"),
    optional("array_elements", Type::Int64, "Length of an array; null for others"),
    optional("heap_used_bytes", Type::Int64, "Heap in use after the previous collection; null too"),
    optional("thread", Type::Utf8, "Allocating thread; null too"),
    optional("function", Type::Utf8, "Allocating function; null without a stack"),
    optional("stack", Type::Utf8, "Functions, outermost first, separated by `;`; null without a stack"),
    optional("description", Type::Utf8, "The runtime's description; null if none"),
    optional("root_system", Type::Utf8, "Part of the runtime that has the root; null without a chain"),
    optional("root_type", Type::Utf8, "Kind of the root; null too"),
    optional("root_description", Type::Utf8, "The runtime's description; null if none"),
    optional("path", Type::Utf8, "Path in classes and fields; null without a chain"),
    required("chain_length", Type::Int64, "Objects of the chain"),
    required("chain_cut", Type::Boolean, "Whether the chain is cut"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it. Texts are text ids of the recording; `u32::MAX`, [`ABSENT`](crate::replay::ABSENT),
/// `i64::MIN` and NaN mean null.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OldObjectRow {
    /// Number of the sample.
    pub sample: u32,
    /// Number of its type.
    pub type_id: u32,
    /// Its address.
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
    /// Text id.
    pub thread: u32,
    /// Text id.
    pub function: u32,
    /// Text id.
    pub stack: u32,
    /// Text id.
    pub description: u32,
    /// Text id.
    pub root_system: u32,
    /// Text id.
    pub root_type: u32,
    /// Text id.
    pub root_description: u32,
    /// Text id.
    pub path: u32,
    /// Objects of its chain.
    pub chain_length: u32,
    /// 1 if the chain is cut.
    pub chain_cut: u32,
}
