//! Table `possible_duplicates`: classes with possible duplicates.

use crate::ids::{ClassId, SetId};
use crate::scratch::Column;
use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "possible_duplicates",
    file: "possible_duplicates.parquet",
    row: "class with possible duplicates",
    order: "`bytes` descending, `class_id`",
    runs: Runs::Analyze,
    condition: Some("with `findings`, if duplicates were searched"),
    notes: &["Sums over `duplicate_sets` with status `possible`."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("class_id", Type::UInt32, "Class"),
    required("class", Type::Utf8, "Name"),
    required("class_key", Type::Utf8, "Its `class_key`"),
    required("sets", Type::UInt32, "Possible sets of the class"),
    required("set", Type::UInt32, "The one with most of `bytes`"),
    required("count", Type::Int64, "Their members"),
    required(
        "untold",
        Type::Int64,
        "Of `count`, those that the input cannot distinguish; references of the rest were not compared",
    ),
    required(
        "bytes",
        Type::Int64,
        "Sizes of all members but one per set, without referenced objects: the most that merging saves",
    ),
    required("message", Type::Utf8, "Why they are only possible, a sentence"),
    required("next_step", Type::Utf8, "Command that compares them; empty if the input lacks the data"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// The classes, by bytes in descending order, then by class.
pub const POSSIBLE_CLASS: Column<PossibleRow> = Column::new("class.possible");

/// A class with possible sets of duplicates. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PossibleRow {
    /// Sizes of all members but one of each such set, without the objects they refer to.
    pub bytes: u64,
    /// Members of sets whose references were not fully compared.
    pub uncompared: u64,
    /// Members of sets that the input cannot distinguish.
    pub untold: u64,
    /// The class.
    pub class: ClassId,
    /// Possible sets of the class.
    pub sets: u32,
    /// The one with most of the bytes.
    pub largest: SetId,
    /// Padding; 0.
    pub unused: u32,
}

impl PossibleRow {
    /// Members of such sets.
    pub fn members(&self) -> u64 {
        self.uncompared + self.untold
    }
}

/// Rule of findings about these classes in runs of older versions, which have no such table.
pub const RULE: &str = "possible-duplicates-of-class";
