//! Table `object_tracks`.

use crate::object_lifetimes::GENERATIONS;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "allocated object",
    order: "`object`, the order of allocation",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    columns: TrackRow::SCHEMAS,
    ..table!("object_tracks")
};

rows! {
    TABLE from Column::new("replay.track");
    /// A row as the replay writes it; `u32::MAX` and [`ABSENT`](crate::replay::ABSENT) mean null.
    #[derive(Eq)]
    pub struct TrackRow {
        object: u32 => id("Allocation number, from 0");
        type_id: u32 => id("Type");
        bytes: u64 => bytes("Size");
        allocated_at_gc: u32 => id("Last collection before the allocation; 0 for none");
        stack: u32 => id("Its stack: `node` of `allocation_callees`; null without one").or_null();
        first_address: u64 => address("Address at allocation");
        last_address: u64 => address("Address at death or at the end; null if an anomaly lost it").or_null();
        moves: u32 => count_from_u32("Address changes");
        died_at_gc: u32 => id("Collection that reclaimed it; null if alive or lost").or_null();
        generation: u32
            => name(&GENERATIONS, "Generation that reclaimed it; null too").named("died_in_generation").or_null();
        living: u32
            => name(&GENERATIONS, "Its generation at the end; null if dead, lost, or in no \
                 range").named("generation").or_null();
    }
}
