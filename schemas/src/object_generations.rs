//! Table `object_generations`.

use crate::object_lifetimes::GENERATIONS;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "stay of an object in a generation",
    order: "`object`, time",
    runs: Runs::Replay,
    condition: Some("with `--tracks`, for traces with moves and survivors"),
    notes: &[
        "The rows of an object span its life, from `allocated_at_gc` to `died_at_gc` of `object_tracks`. After a \
         collection it is in the row with `since_gc` at or before it and `until_gc` after it, in the order of \
         `collections`.",
        "Objects outside all reported ranges, such as literals of a module, and objects that an anomaly lost have no \
         rows.",
    ],
    columns: GenerationRow::SCHEMAS,
    ..table!("object_generations")
};

rows! {
    TABLE from Column::new("replay.generation");
    /// A row as the replay writes it; `u32::MAX` means null.
    #[derive(Eq)]
    pub struct GenerationRow {
        object: u32 => id("Object, as in `object_tracks`");
        generation: u32 => name(&GENERATIONS, "As in `object_lifetimes`");
        since_gc: u32 => id("Last collection before it entered the generation; 0 for none");
        until_gc: u32 => id("Collection that moved or reclaimed it; null if there at the end").or_null();
    }
}
