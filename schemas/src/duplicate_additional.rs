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
    row: "node that merging a set of duplicates would make needless",
    order: "`set`, then `node`",
    runs: Runs::Analyze,
    condition: Some("with `duplicate_members`, if references are compared: `--duplicates all` or `--duplicates-of`"),
    notes: &[
        "Merging a set keeps what its first member reaches. These are all other members, and all that only they reach: the \
         sum of `self_bytes` in `nodes` over the rows of a set is the `additional_bytes` of the set, where that is exact.",
        "Sets nest, so a node can be in the rows of several sets. The sets that no other set holds come first, the largest \
         before others, then those that are held; the table ends after as many rows as the heap has nodes, and at least \
         1,048,576. A set has all its rows or none: none if its references were not compared, if comparing its members \
         used up `--duplicate-work`, or if a member has more than 131,072 counterparts.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("set", Type::UInt32, "Set, as in `duplicate_sets`"),
    required("node", Type::UInt32, "Node that is not needed once the set is merged, as in `nodes`"),
    required(
        "replaced_by",
        Type::UInt32,
        "The equal node that stays and that references would lead to; the least of several that fit",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// The rows, by set and node.
pub const SET_ADDITIONAL: Column<AdditionalRow> = Column::new("set.additional");

/// One row, as the stage that finds them hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AdditionalRow {
    /// The set.
    pub set: SetId,
    /// The node that would go.
    pub node: NodeId,
    /// The node that stays in its place.
    pub by: NodeId,
}
