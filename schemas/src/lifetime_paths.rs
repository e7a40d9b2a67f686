//! Table `lifetime_paths`.

use crate::object_lifetimes::GENERATIONS;
use crate::row::rows;
use crate::scratch_column::{Column, FUNCTION_STRINGS};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "call path, and generation that reclaimed its objects or `alive`",
    order: "`node`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &[
        "Paths are those of `allocation_callees`.",
        "Counts and bytes cover all objects, whatever `--sample-interval` is: they sum to those of \
         `allocation_callees`, except for objects that an anomaly lost.",
    ],
    columns: PathRow::SCHEMAS,
    ..table!("lifetime_paths")
};

rows! {
    TABLE from Column::new("replay.path");
    /// A row as the replay writes it.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct PathRow {
        node: u32 => id("Path: `node` of `allocation_callees`");
        parent: u32 => id("`node` of the caller; null at depth 0").or_null();
        depth: u32 => steps("Callers above");
        function_id: u32 => id("Innermost function of the path");
        function: u32 => text(FUNCTION_STRINGS, "Name");
        generation: u32 => name(&GENERATIONS, "As in `object_lifetimes`");
        inclusive_count: u64 => count("Objects allocated by the function and its callees");
        inclusive_bytes: u64 => bytes("Their sizes");
        exclusive_count: u64 => count("Objects allocated by the function itself");
        exclusive_bytes: u64 => bytes("Their sizes");
        inclusive_samples: u64 => count("Samples behind the inclusive numbers");
        exclusive_samples: u64 => count("Samples behind the exclusive numbers");
    }
}
