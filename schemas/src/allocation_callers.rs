//! Table `allocation_callers`.

use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "node of a type's reverse call graph",
    order: "`type_id`, preorder; callers of one node by `estimated_bytes` descending, `function_id`",
    runs: Runs::Replay,
    notes: &[
        "If the trace has bytes per type, those of its allocating functions and of its objects without a stack sum to \
         `bytes` in `allocation_types`, exactly; so do counts.",
        "Traces with many deep stacks omit the callers of the deepest; the anomaly `stacks_with_callers_left_out` \
         counts them.",
    ],
    columns: CallerRow::SCHEMAS,
    ..table!("allocation_callers")
};

rows! {
    TABLE from Column::new("replay.caller");
    /// A row as the replay writes it; its position is its node.
    #[derive(Eq)]
    pub struct CallerRow {
        parent: u32
            => position("node", "Row number")
            | id("`node` of the called function; null at depth 0").or_null();
        depth: u32 => steps("Calls up to the allocation; 0 for the allocating function");
        type_id: u32 => id("Allocated type");
        function_id: u32 => id("Function");
        samples: u64 => count("Sampled stacks through the node");
        sampled_bytes: u64 => bytes("Sizes of their objects");
        estimated_bytes: u64 => bytes("Bytes of all objects; estimated if the trace lacks single allocations");
        estimated_count: u64 => count("Their number; likewise");
    }
}
