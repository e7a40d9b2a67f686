//! Table `samples`.

use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "sample of the allocation time line",
    order: "`sample`",
    condition: Some("for V8 snapshots with allocation tracking"),
    notes: &["An object belongs to the first sample with a `last_assigned_id` of at least its `id` in `nodes`. As in \
         Chrome DevTools, parts of the runtime, which have even ids, and objects after the last sample belong to \
         none."],
    columns: SampleRow::SCHEMAS,
    ..table!("samples")
};

/// Scratch column of its rows.
pub const ROWS: Column<SampleRow> = SampleRow::ROWS;

rows! {
    TABLE from Column::new("sample.row");
    /// A row as the stage that adds up live objects writes it.
    #[derive(Eq)]
    pub struct SampleRow {
        time: u64
            => position("sample", "Sample number, from 0")
            | also(seconds("seconds", |row: &SampleRow| row.time as f64 / 1e6, "Time since the recording began"));
        last_id: u64 => address("Largest object id by then").named("last_assigned_id");
        count: u64 => count("Live objects of the interval").named("live_count");
        bytes: u64 => bytes("Their shallow sizes").named("live_bytes");
    }
}
