//! Table `object_counts`.

use crate::row::rows;
use crate::scratch_column::{Column, TYPE_NAMES};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "class in an object count of a recording of Java",
    order: "position in the recording",
    runs: Runs::Replay,
    condition: Some("for recordings with object counts"),
    notes: &["The runtime omits classes below half a percent of the heap."],
    columns: ObjectCountRow::SCHEMAS,
    ..table!("object_counts")
};

rows! {
    TABLE from Column::new("replay.object_count");
    /// A row as the replay writes it.
    #[derive(Eq)]
    pub struct ObjectCountRow {
        gc: u32 => id("Collection that counted");
        after_gc: u32 => flag("Whether a collection of the program counted, not an extra one");
        counted_at_us: i64 => time("When; null if not recorded").named("counted_at").or_null();
        type_id: u32
            => id("Numbered as in `allocation_types`")
            | text(TYPE_NAMES, "Name").named("type");
        padding: u32;
        count: u64 => count("Live objects");
        bytes: u64 => bytes("Their sizes");
    }
}
