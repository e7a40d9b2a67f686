//! Table `generation_bounds`.

use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "reported range of addresses of a generation",
    order: "collection, `moment`, `start`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &[
        "An object is in the generation whose range has its address, a range of survivors in that of the range where \
         it begins. In one collection the ranges of a generation either move or survive in place; the anomaly \
         `generations_moved_and_surviving` counts exceptions.",
    ],
    columns: BoundRow::SCHEMAS,
    ..table!("generation_bounds")
};

/// Names of moments.
pub const MOMENTS: [&str; 2] = ["begin", "end"];

rows! {
    TABLE from Column::new("replay.bound");
    /// A row as the replay writes it; [`ABSENT`](crate::replay::ABSENT) means null.
    #[derive(Eq)]
    pub struct BoundRow {
        gc: u32 => id("Collection");
        moment: u32 => name(&MOMENTS, "`begin` or `end` of the collection");
        generation: u32 => code("0, 1, 2; 3 large, 4 pinned object heap");
        padding: u32;
        start: u64 => address("First address");
        used: u64 => bytes("Bytes that objects may fill");
        reserved: u64 => bytes("Bytes reserved");
        moved: u64 => count("Moved ranges that begin in it; null at the end").named("moved_ranges").or_null();
        surviving: u64
            => count("Ranges surviving in place that begin in it; null too").named("surviving_ranges").or_null();
    }
}
