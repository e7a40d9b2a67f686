//! Table `retainer_trees`.

use crate::scratch::Column;
use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "retainer_trees",
    file: "retainer_trees.parquet",
    row: "branch of the retainer tree of a big class",
    order: "classes as in `classes`; branches in preorder, largest first",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "All holders, where a `reference` chain has one path per instance. If a branch of level 1 drops its \
         references, the instances that it alone holds become unreachable (`exclusive_count`).",
        "Each level has the holders of the one before, over all essential edges from nodes nearer to the root; in the \
         first three levels also from others, unless their target dominates them. A holder at distance 1 has no \
         holder but the root. Holders are merged by class and edge label; labels with few instances become `(any)`; \
         branches with less than 5 % of instances and bytes, and those after the eighth, the `rest`. A reference \
         stated both with an object and with its backing store counts as the object's.",
        "An instance counts once in each branch that holds it, so sibling branches do not sum to their parent.",
        "At most 16,384 evenly chosen instances of a class and a bounded number of edges are visited; `is_cut` marks \
         incomplete rows. Shares of `looked_at` are then estimates.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("branch", Type::UInt32, "Row number"),
    required("class_id", Type::UInt32, "Class of the instances"),
    required("class", Type::Utf8, "Name"),
    required("looked_at", Type::Int64, "Visited instances: all, or a sample"),
    optional("parent", Type::UInt32, "`branch` one level nearer to the instances; null at level 1"),
    required("level", Type::UInt32, "1 for direct holders of instances"),
    required("kind", Type::Utf8, "`holder`, `root` (the root itself) or `rest` (all small branches)"),
    optional("holder_class", Type::Utf8, "Class of the holders; null for the rest"),
    optional("edge", Type::Utf8, "Label of their edges, as in `chains`; null for the rest and without a label"),
    required("text", Type::Utf8, "Path from the holders to the instances, as in `chains`"),
    required("merged", Type::Int64, "Merged pairs of class and label; above 1 for `(any)` and the rest"),
    required("holders", Type::Int64, "Distinct holders"),
    required("example_node", Type::UInt32, "`node` of the holder nearest to the root"),
    optional("distance", Type::Int32, "Its distance; null if unreachable"),
    required("count", Type::Int64, "Distinct instances held through the branch"),
    required("shallow_bytes", Type::Int64, "Their sizes"),
    required("retained_bytes", Type::Int64, "Their retained size, without double counting"),
    required("exclusive_count", Type::Int64, "Those that only this branch holds"),
    required("exclusive_shallow_bytes", Type::Int64, "Their shallow sizes"),
    required("exclusive_retained_bytes", Type::Int64, "Their retained size, likewise"),
    required("is_cut", Type::Boolean, "Whether a limit of work cut instances, holders or deeper levels"),
];

/// Scratch column of its rows.
pub const ROWS: Column<TreeRow> = Column::new("retainer_tree.row");

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of the kinds of branches, by [`TreeRow::kind`].
pub const KINDS: [&str; 3] = ["holder", "root", "rest"];

/// A row as the stage that grows trees writes it. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TreeRow {
    /// Class of the instances.
    pub class_id: u32,
    /// Row of the branch nearer to the instances; `u32::MAX` for none.
    pub parent: u32,
    /// 1 for direct holders of instances.
    pub level: u32,
    /// Position in [`KINDS`].
    pub kind: u32,
    /// Class of the holders.
    pub holder_class: u32,
    /// Label of their edges: a string id, or one of [`label`](crate::chains::label).
    pub label: u32,
    /// Distance of the nearest holder; `i32::MAX` for none.
    pub distance: i32,
    /// The nearest holder.
    pub example_node: u32,
    /// 1 if a limit of work cut something.
    pub is_cut: u32,
    /// Padding; 0.
    pub unused: u32,
    /// Visited instances.
    pub looked_at: u64,
    /// Pairs of class and label.
    pub merged: u64,
    /// Distinct holders.
    pub holders: u64,
    /// Instances.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Their retained size, without double counting.
    pub retained_bytes: u64,
    /// Instances held only by this branch.
    pub exclusive_count: u64,
    /// Their shallow sizes.
    pub exclusive_shallow_bytes: u64,
    /// Their retained size, likewise.
    pub exclusive_retained_bytes: u64,
}
