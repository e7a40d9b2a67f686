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
    row: "branch of the tree of all holders of the instances of a big class",
    order: "classes as in `classes`; a branch before those behind it, the one that holds most first",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "A chain of kind `reference` is one shortest path for each instance. This table has all holders. If the holder \
         of a branch of level 1 drops its references, the instances that it holds alone become unreachable \
         (`exclusive_count`); the others stay while another holder refers to them.",
        "Each level goes from holders to their holders, over every essential edge from a node that is nearer to the root; \
         in the first three levels also over those from nodes that are no nearer, unless what they hold dominates them. A \
         holder at distance 1 has no holder but the root. Holders are merged by class and edge label; labels that hold \
         little are one branch with the label `(any)`, branches that hold less than 5 % of instances and bytes, and those \
         after the eighth, are the `rest`. Where the input states a reference once with an object and once more with its backing store, it counts as the object's.",
        "Instances are counted once in a branch, however many of its holders hold them, and in each branch that holds them: \
         branches side by side do not sum to what is held.",
        "At most 16,384 instances of a class are looked at, evenly chosen, and a bounded number of edges; `is_cut` says \
         where that left something out. Shares of `looked_at` are then estimates.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("branch", Type::UInt32, "Number of the row, from 0"),
    required("class_id", Type::UInt32, "Class of the instances, as in `classes`"),
    required("class", Type::Utf8, "Its name"),
    required("looked_at", Type::Int64, "Instances from which the walk began: all, or a part where they are very many"),
    optional(
        "parent",
        Type::UInt32,
        "`branch` one level nearer to the instances, whose holders are held by these; null for what holds instances directly",
    ),
    required("level", Type::UInt32, "1 for what holds instances directly"),
    required(
        "kind",
        Type::Utf8,
        "`holder`, `root` (held by the root itself) or `rest` (all that is too light for a row)",
    ),
    optional("holder_class", Type::Utf8, "Class of the holders; null for the rest"),
    optional(
        "edge",
        Type::Utf8,
        "Label of the edges from them, as in `chains`; null for the rest, and if the input gives none",
    ),
    required("text", Type::Utf8, "The path from the holders to the instances, as in `chains`"),
    required(
        "merged",
        Type::Int64,
        "How many pairs of class and label the row has: more than 1 for `(any)` and the rest",
    ),
    required("holders", Type::Int64, "Distinct holders"),
    required("example_node", Type::UInt32, "`node` of the holder that is nearest to the root"),
    optional("distance", Type::Int32, "Its distance; null if no path leads to it"),
    required("count", Type::Int64, "Distinct instances that are held through the branch"),
    required("shallow_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    required(
        "retained_bytes",
        Type::Int64,
        "Sum of `retained_bytes` over those that no other instance of the class dominates: nothing counts twice",
    ),
    required(
        "exclusive_count",
        Type::Int64,
        "Those of `count` that the branch alone holds: all holders in the tree lead through it",
    ),
    required("exclusive_shallow_bytes", Type::Int64, "`shallow_bytes` of those"),
    required("exclusive_retained_bytes", Type::Int64, "`retained_bytes` of those, likewise"),
    required(
        "is_cut",
        Type::Boolean,
        "Whether a limit of work left something out: not all instances or holders were looked at, or the branch goes on",
    ),
];

/// Its rows on their way to it.
pub const ROWS: Column<TreeRow> = Column::new("retainer_tree.row");

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of the kinds of branches, by [`TreeRow::kind`].
pub const KINDS: [&str; 3] = ["holder", "root", "rest"];

/// One row, as the stage that grows trees hands it on. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TreeRow {
    /// Class of the instances.
    pub class_id: u32,
    /// Row of the branch nearer to the instances; `u32::MAX` for none.
    pub parent: u32,
    /// 1 for what holds instances directly.
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
    /// 1 where a limit left something out.
    pub is_cut: u32,
    /// Nothing.
    pub unused: u32,
    /// Instances that were looked at.
    pub looked_at: u64,
    /// Pairs of class and label.
    pub merged: u64,
    /// Distinct holders.
    pub holders: u64,
    /// Instances.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Their retained sizes, nothing counted twice.
    pub retained_bytes: u64,
    /// Instances that the branch alone holds.
    pub exclusive_count: u64,
    /// Their shallow sizes.
    pub exclusive_shallow_bytes: u64,
    /// Their retained sizes.
    pub exclusive_retained_bytes: u64,
}
