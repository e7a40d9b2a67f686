//! Table `object_lifetimes`.

use crate::column::{self, Type, Unit};
use crate::row::rows;
use crate::scratch_column::{Column, TYPE_NAMES};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "type and generation in which its objects died",
    order: "`type_id`, `generation`",
    runs: Runs::Replay,
    condition: Some("for traces with moves and survivors"),
    columns: LifetimeRow::SCHEMAS,
    ..table!("object_lifetimes")
};

/// Names of the generations, by their codes in scratch columns; the last is that of objects alive at the end.
pub const GENERATIONS: [&str; 6] = ["0", "1", "2", "large", "pinned", "alive"];

/// The code of objects alive at the end of the trace.
pub const ALIVE: usize = GENERATIONS.len() - 1;

rows! {
    TABLE from Column::new("replay.lifetime");
    /// A row as the replay writes it.
    pub struct LifetimeRow {
        type_id: u32
            => id("Type")
            | text(TYPE_NAMES, "Name").named("type");
        generation: u32
            => name(&GENERATIONS, "Generation that reclaimed them: `0`, `1`, `2`, `large`, `pinned`; or `alive`");
        count: u64 => count("Objects, exact");
        bytes: u64 => bytes("Sum of their sizes, exact");
        mean_age_gcs: f64
            => f64(column::column("mean_age_gcs", Type::Float64, Unit::Collections, "Mean number of collections from \
                 allocation to death, inclusive"));
        max_age_gcs: u32 => u32(column::collections("max_age_gcs", "Largest such number"));
        padding: u32;
        mean_age_seconds: f64
            => seconds("Mean age; null without times").or_null()
            | computed(column::SIGNATURE)
            | computed(column::FINGERPRINT);
    }
}
