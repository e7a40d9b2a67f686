//! Table `moved_ranges`.

use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "range of addresses that a collection moved",
    order: "collection, `from`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &["Ranges translate addresses between moments."],
    columns: MoveRow::SCHEMAS,
    ..table!("moved_ranges")
};

rows! {
    TABLE from Column::new("replay.move");
    /// A row as the replay writes it.
    #[derive(Eq)]
    pub struct MoveRow {
        gc: u32 => id("Collection");
        padding: u32;
        from: u64 => address("First address before the collection");
        to: u64 => address("First address after it");
        bytes: u64 => bytes("Length of the range");
    }
}
