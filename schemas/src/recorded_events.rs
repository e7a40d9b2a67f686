//! Table `recorded_events`.

use crate::row::rows;
use crate::scratch_column::{Column, RECORDING_TEXTS};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "kind of event in a recording of Java",
    order: "`count` descending, `event`",
    runs: Runs::Replay,
    condition: Some("for recordings of Java"),
    notes: &["As counted by `jfr summary`. Missing events were not enabled."],
    columns: RecordedEventRow::SCHEMAS,
    ..table!("recorded_events")
};

rows! {
    TABLE from Column::new("replay.recorded_event");
    /// A row as the replay writes it.
    #[derive(Eq)]
    pub struct RecordedEventRow {
        event: u32 => text(RECORDING_TEXTS, "Name");
        used: u32;
        count: u64 => count("Events in whole chunks");
        bytes: u64
            => bytes("Their bytes in the recording")
            | also(flag("used", |row: &RecordedEventRow| row.used, "Whether the replay reads them"));
    }
}
