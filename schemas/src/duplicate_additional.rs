//! Table `duplicate_additional`.

use crate::ids::{NodeId, SetId};
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "node that merging a set of duplicates would free",
    order: "`set`, `node`",
    condition: Some("with `duplicate_members`, for `--duplicates all` or `--duplicates-of`"),
    notes: &[
        "Merging a set keeps all that its first member reaches. The rows are the other members and all that only they \
         reach: their `self_bytes` sum to the set's `additional_bytes`, if exact.",
        "Sets nest, so a node can be in several. Sets that no other dominates come first, largest first, then the \
         others; the table ends after as many rows as the heap has nodes, at least 1,048,576. A set has all its rows \
         or none: none if its references were not compared, if comparing its members used up `--duplicate-work`, or \
         if a member has more than 131,072 counterparts.",
    ],
    columns: AdditionalRow::SCHEMAS,
    ..table!("duplicate_additional")
};

/// The rows, by set and node.
pub const SET_ADDITIONAL: Column<AdditionalRow> = AdditionalRow::ROWS;

rows! {
    TABLE from Column::new("set.additional");
    /// A row as the stage that finds them writes it.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct AdditionalRow {
        set: SetId => also(id("set", |row: &AdditionalRow| row.set.0, "Set"));
        node: NodeId => also(id("node", |row: &AdditionalRow| row.node.0, "Node that merging frees"));
        by: NodeId
            => also(id("replaced_by", |row: &AdditionalRow| row.by.0, "Equal node that stays and takes over its \
                 references; the least of several"));
    }
}
