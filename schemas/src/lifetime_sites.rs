//! Table `lifetime_sites`.

use crate::object_lifetimes::GENERATIONS;
use crate::row::rows;
use crate::scratch_column::{Column, FUNCTION_STRINGS, TYPE_NAMES};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "allocating function, type, and generation that reclaimed the objects or `alive`",
    order: "`bytes` descending, `function_id`, `type_id`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with stacks, moves and survivors"),
    notes: &["Counts and bytes cover all objects with a stack, except those that an anomaly lost."],
    columns: SiteRow::SCHEMAS,
    ..table!("lifetime_sites")
};

rows! {
    TABLE from Column::new("replay.site");
    /// A row as the replay writes it.
    #[derive(Eq)]
    pub struct SiteRow {
        function_id: u32 => id("Innermost function of the stack");
        function: u32 => text(FUNCTION_STRINGS, "Name");
        type_id: u32
            => id("Type")
            | text(TYPE_NAMES, "Name").named("type");
        generation: u32 => name(&GENERATIONS, "As in `object_lifetimes`");
        count: u64 => count("Objects");
        bytes: u64 => bytes("Their sizes");
        samples: u64 => count("Allocations behind these numbers");
    }
}
