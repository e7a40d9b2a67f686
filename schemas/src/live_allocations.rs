//! Table `live_allocations`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "class, stack and time-line interval of live objects",
    order: "`sample`, `class_id`, `node`; null last",
    condition: Some("for V8 snapshots with allocation tracking"),
    notes: &[
        "Rows sum by `node` to the live objects of a stack, as in the allocation view of Chrome DevTools, and by \
         `sample` to `samples`. Objects with neither have no row.",
    ],
    columns: LiveRow::SCHEMAS,
    ..table!("live_allocations")
};

/// Scratch column of its rows.
pub const ROWS: Column<LiveRow> = LiveRow::ROWS;

rows! {
    TABLE from Column::new("live.row");
    /// A row as the stage that adds up live objects writes it. `u32::MAX` means null.
    #[derive(Eq)]
    pub struct LiveRow {
        sample: u32
            => id("Their interval in `samples`; null if none, as for parts of the runtime and after the last \
                 sample").or_null();
        class: u32
            => id("Class").named("class_id")
            | computed(column::text("class", "Class name"));
        node: u32
            => id("Their stack: `node` of `allocation_callees`; null if unknown, as for objects older than the \
                 tracking").or_null();
        padding: u32;
        count: u64 => count("Objects").named("live_count");
        bytes: u64 => bytes("Their shallow sizes").named("live_bytes");
    }
}
