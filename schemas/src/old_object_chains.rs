//! Table `old_object_chains`.

use crate::column::{self, Type, Unit};
use crate::row::rows;
use crate::scratch_column::{Column, RECORDING_TEXTS, TYPE_NAMES};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "object of a chain that holds an old object",
    order: "`sample`, `step`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    columns: OldObjectChainRow::SCHEMAS,
    ..table!("old_object_chains")
};

rows! {
    TABLE from Column::new("replay.old_object_chain");
    /// A row as the replay writes it; null as in [`OldObjectRow`](crate::old_objects::OldObjectRow).
    #[derive(Eq)]
    pub struct OldObjectChainRow {
        sample: u32 => id("Sample, as in `old_objects`");
        step: u32 => steps("0 for the sampled object, increasing towards the root");
        type_id: u32
            => id("Numbered as in `allocation_types`")
            | text(TYPE_NAMES, "Name").named("type");
        padding: u32;
        address: u64 => address("Its address; null if not recorded").or_null();
        description: u32 => text(RECORDING_TEXTS, "The runtime's description; null if none").or_null();
        field: u32 => text(RECORDING_TEXTS, "Field that refers to the previous step; null for an element").or_null();
        is_static: u32 => flag("Whether that field is static; null too").named("static").or_null();
        skipped: u32;
        array_index: u64
            => u64(column::column("array_index", Type::Int64, Unit::FromZero, "Index of the element; null for a \
                 field").or_null());
        array_size: u64
            => count("Length of the array; null too").or_null()
            | also(count_from_u32("skipped", |row: &OldObjectChainRow| row.skipped, "Omitted objects since the previous \
                 step"));
    }
}
