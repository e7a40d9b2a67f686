//! Table `allocation_callees`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "node of the call tree",
    order: "preorder; callees of one node by `inclusive_bytes` descending, `function_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "Inclusive and exclusive as in `allocation_functions`, per call path.",
        "A snapshot has the tree of its input, below the runtime's node `(root)`, as in the allocation view of Chrome \
         DevTools.",
    ],
    columns: CalleeRow::SCHEMAS,
    ..table!("allocation_callees")
};

rows! {
    TABLE from Column::new("replay.callee");
    /// A row as the stage that finds the call tree writes it. [`ABSENT`](crate::replay::ABSENT) means null in optional
    /// numbers.
    #[derive(Eq)]
    pub struct CalleeRow {
        node: u32 => id("Row number");
        parent: u32 => id("`node` of the caller; null at depth 0").or_null();
        depth: u32 => steps("Callers above");
        function_id: u32 => id("Function");
        inclusive_samples: u64 => count("Sampled stacks through the node");
        inclusive_bytes: u64 => bytes("Bytes, inclusive");
        exclusive_samples: u64 => count("Sampled stacks that end in the node");
        exclusive_bytes: u64 => bytes("Bytes, exclusive");
        inclusive_count: u64 => count("Objects, inclusive");
        exclusive_count: u64 => count("Objects, exclusive");
        trace_node: u32 => id("The input's number of the node; null in traces").or_null();
        padding: u32;
        inclusive_live_count: u64 => count("Live objects, inclusive; null in traces").or_null();
        inclusive_live_bytes: u64 => bytes("Their shallow sizes; null too").or_null();
        exclusive_live_count: u64 => count("Live objects, exclusive; null too").or_null();
        exclusive_live_bytes: u64
            => bytes("Their shallow sizes; null too").or_null()
            | computed(column::text(
            "signature",
            "Identity of the call path as text: signatures of its functions, outermost first; of long paths the 2 \
         outermost and 6 innermost",
        ))
            | computed(column::address("fingerprint", "Hash of the fingerprints of all its functions"));
    }
}
