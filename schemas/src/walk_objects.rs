//! Table `walk_objects`.

use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "object of a heap walk",
    order: "`gc`, `address`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves, survivors and heap walks"),
    notes: &[
        "`object` joins walks of one process, whatever the addresses; `address` joins a walk with the `nodes` of \
         `heaplake analyze --walk`.",
    ],
    columns: WalkRow::SCHEMAS,
    ..table!("walk_objects")
};

rows! {
    TABLE from Column::new("replay.walk_object");
    /// A row as the replay writes it; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) mean null.
    #[derive(Eq)]
    pub struct WalkRow {
        gc: u32 => id("Collection that ended with the walk");
        padding: u32;
        address: u64 => address("Address then; `id` in the `nodes` of the walk");
        object: u32 => id("Object, as in `object_tracks`; null if not in the trace").or_null();
        type_id: u32 => id("Type; null too").or_null();
        bytes: u64 => bytes("Size; null too").or_null();
    }
}
