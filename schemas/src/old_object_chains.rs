//! Table `old_object_chains`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "old_object_chains",
    file: "old_object_chains.parquet",
    row: "object of a chain that holds an old object",
    order: "`sample`, `step`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "Sample, as in `old_objects`"),
    required("step", Type::UInt32, "0 for the sampled object, increasing towards the root"),
    required("type_id", Type::UInt32, "Numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Name"),
    optional("address", Type::UInt64, "Its address; null if not recorded"),
    optional("description", Type::Utf8, "The runtime's description; null if none"),
    optional("field", Type::Utf8, "Field that refers to the previous step; null for an element"),
    optional("static", Type::Boolean, "Whether that field is static; null too"),
    optional("array_index", Type::Int64, "Index of the element; null for a field"),
    optional("array_size", Type::Int64, "Length of the array; null too"),
    required("skipped", Type::Int64, "Omitted objects since the previous step"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it; null as in [`OldObjectRow`](crate::old_objects::OldObjectRow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OldObjectChainRow {
    /// Number of the sample.
    pub sample: u32,
    /// Number of the step.
    pub step: u32,
    /// Address of the object.
    pub address: u64,
    /// Index of the element.
    pub array_index: u64,
    /// Length of the array.
    pub array_size: u64,
    /// Number of its type.
    pub type_id: u32,
    /// Text id.
    pub description: u32,
    /// Text id.
    pub field: u32,
    /// 1 if the field is static.
    pub is_static: u32,
    /// Objects left out.
    pub skipped: u32,
    /// Padding; 0.
    pub padding: u32,
}
