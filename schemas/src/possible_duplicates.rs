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
    row: "class with objects of which it is not known whether they are duplicates",
    order: "`bytes` descending, then `class_id`",
    runs: Runs::Analyze,
    condition: Some("with `findings`, if duplicates were looked for"),
    notes: &[
        "The rows of `duplicate_sets` with status `possible`, added up by class. Among the findings they are one line.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("class_id", Type::UInt32, "Class, as in `classes`"),
    required("class", Type::Utf8, "Its name"),
    required("class_key", Type::Utf8, "`class_key` of `class_id`"),
    required("sets", Type::UInt32, "Sets of the class whose status is `possible`"),
    required("set", Type::UInt32, "The one with the most of `bytes`, as in `duplicate_sets`"),
    required("count", Type::Int64, "Members of these sets"),
    required(
        "untold",
        Type::Int64,
        "Of `count`, members that the input cannot tell apart; the references of the others were not compared",
    ),
    required(
        "bytes",
        Type::Int64,
        "Sizes of all members but one of each set, without what they refer to: saved at most, if they are duplicates",
    ),
    required(
        "message",
        Type::Utf8,
        "How many members there are and why they are only possible duplicates, in a sentence",
    ),
    required("next_step", Type::Utf8, "The command that compares them; empty where only the input could tell"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// The classes, by bytes in descending order, then by class.
pub const POSSIBLE_CLASS: Column<PossibleRow> = Column::new("class.possible");

/// A class that has a set of which it is not known whether its members are duplicates. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PossibleRow {
    /// Sizes of all members but one of each such set, without what they refer to.
    pub bytes: u64,
    /// Members of sets whose references were not compared to the end.
    pub uncompared: u64,
    /// Members of sets that the input does not tell apart.
    pub untold: u64,
    /// The class.
    pub class: ClassId,
    /// Such sets of the class.
    pub sets: u32,
    /// The one with the most of the bytes.
    pub largest: SetId,
    /// 0.
    pub unused: u32,
}

impl PossibleRow {
    /// Members of such sets.
    #[must_use]
    pub fn members(&self) -> u64 {
        self.uncompared + self.untold
    }
}

/// Rule of findings about such classes, in runs of older versions, which have no table of them.
pub const RULE: &str = "possible-duplicates-of-class";
