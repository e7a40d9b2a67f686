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
    order: "`sample`, then `step`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("sample", Type::UInt32, "The sample, as in `old_objects`"),
    required("step", Type::UInt32, "0 for the sampled object, then towards the root"),
    required("type_id", Type::UInt32, "Type, numbered as in `allocation_types`"),
    required("type", Type::Utf8, "Its name"),
    optional("address", Type::UInt64, "Where the object was; null if the recording does not tell"),
    optional("description", Type::Utf8, "What the runtime says of it; null if nothing"),
    optional("field", Type::Utf8, "Field that refers to the object of the step before; null if it is an element"),
    optional("static", Type::Boolean, "Whether this field is static; null likewise"),
    optional("array_index", Type::Int64, "Index of the element; null if it is a field"),
    optional("array_size", Type::Int64, "Length of the array; null likewise"),
    required("skipped", Type::Int64, "Objects between it and the step before that the recording leaves out"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stage that replays a trace hands it on; what means null is as in
/// [`OldObjectRow`](crate::old_objects::OldObjectRow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OldObjectChainRow {
    /// Number of the sample.
    pub sample: u32,
    /// Number of the step.
    pub step: u32,
    /// Where the object was.
    pub address: u64,
    /// Index of the element.
    pub array_index: u64,
    /// Length of the array.
    pub array_size: u64,
    /// Number of its type.
    pub type_id: u32,
    /// Text.
    pub description: u32,
    /// Text.
    pub field: u32,
    /// 1 if the field is static.
    pub is_static: u32,
    /// Objects left out.
    pub skipped: u32,
    /// Always 0.
    pub padding: u32,
}
