//! Table `retainer_trees`.

use crate::column::{bytes, count, edges, flag, id, steps, text};
use crate::scratch::Column;
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "branch of the retainer tree of a big class",
    order: "classes as in `classes`; branches in preorder, largest first",
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
    columns: &[
        id("branch", "Row number"),
        id("class_id", "Class of the instances"),
        text("class", "Name"),
        count("looked_at", "Visited instances: all, or a sample"),
        id("parent", "`branch` one level nearer to the instances; null at level 1").or_null(),
        steps("level", "1 for direct holders of instances"),
        text("kind", "`holder`, `root` (the root itself) or `rest` (all small branches)"),
        text("holder_class", "Class of the holders; null for the rest").or_null(),
        text("edge", "Label of their edges, as in `chains`; null for the rest and without a label").or_null(),
        text("text", "Path from the holders to the instances, as in `chains`"),
        count("merged", "Merged pairs of class and label; above 1 for `(any)` and the rest"),
        count("holders", "Distinct holders"),
        id("example_node", "`node` of the holder nearest to the root"),
        edges("distance", "Its distance; null if unreachable").or_null(),
        count("count", "Distinct instances held through the branch"),
        bytes("shallow_bytes", "Their sizes"),
        bytes("retained_bytes", "Their retained size, without double counting"),
        count("exclusive_count", "Those that only this branch holds"),
        bytes("exclusive_shallow_bytes", "Their shallow sizes"),
        bytes("exclusive_retained_bytes", "Their retained size, likewise"),
        flag("is_cut", "Whether a limit of work cut instances, holders or deeper levels"),
    ],
    ..table!("retainer_trees")
};

/// Scratch column of its rows.
pub const ROWS: Column<TreeRow> = Column::new("retainer_tree.row");

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
