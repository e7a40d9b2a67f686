//! Table `duplicate_additional`.

use crate::ids::{NodeId, SetId};
use crate::scratch::Column;
use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "duplicate_additional",
    file: "duplicate_additional.parquet",
    row: "node that merging a set of duplicates would free",
    order: "`set`, `node`",
    runs: Runs::Analyze,
    condition: Some("with `duplicate_members`, for `--duplicates all` or `--duplicates-of`"),
    notes: &[
        "Merging a set keeps all that its first member reaches. The rows are the other members and all that only they \
         reach: their `self_bytes` sum to the set's `additional_bytes`, if exact.",
        "Sets nest, so a node can be in several. Sets that no other dominates come first, largest first, then the \
         others; the table ends after as many rows as the heap has nodes, at least 1,048,576. A set has all its rows \
         or none: none if its references were not compared, if comparing its members used up `--duplicate-work`, or \
         if a member has more than 131,072 counterparts.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("set", Type::UInt32, "Set"),
    required("node", Type::UInt32, "Node that merging frees"),
    required("replaced_by", Type::UInt32, "Equal node that stays and takes over its references; the least of several"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// The rows, by set and node.
pub const SET_ADDITIONAL: Column<AdditionalRow> = Column::new("set.additional");

/// A row as the stage that finds them writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AdditionalRow {
    /// The set.
    pub set: SetId,
    /// The node that merging frees.
    pub node: NodeId,
    /// The node that replaces it.
    pub by: NodeId,
}
