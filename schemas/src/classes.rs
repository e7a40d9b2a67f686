//! Table `classes`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::{CLASS_KEYS, Column};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "class with at least one instance",
    order: "`retained_bytes` descending, `class_id`",
    notes: &["V8: only nodes with a shallow size above 0 count. Unreachable nodes never count."],
    columns: ClassRow::SCHEMAS,
    ..table!("classes")
};

rows! {
    TABLE from Column::new("class.row");
    /// A row as the stage that computes classes writes it.
    #[derive(Eq)]
    pub struct ClassRow {
        class_id: u32
            => id("Class number, as in `nodes`")
            | computed(column::text("class", "Name; not unique"))
            | text(CLASS_KEYS, "Name with source location, class loader or module").named("class_key");
        distance: i32;
        count: u64 => count("Instances");
        self_bytes: u64 => bytes("Their `self_bytes`");
        shallow_bytes: u64 => bytes("Their sizes");
        native_bytes: u64 => computed(column::bytes("native_bytes", "Their native sizes; null if unknown").or_null());
        retained_bytes: u64
            => bytes("`retained_bytes` of those that no other instance dominates, so nothing counts twice");
        max_retained_bytes: u64
            => bytes("Largest `retained_bytes` of an instance")
            | also(edges("distance", |row: &ClassRow| row.distance, "Least `distance`, from 100,000,000 if only the \
                 runtime leads to them; null if one has none").or_null())
            | computed(column::count("duplicate_count", "Instances in fully compared sets of duplicates; null if not \
                 searched").or_null())
            | computed(column::bytes("duplicate_bytes", "Their shallow sizes; null too").or_null())
            | computed(column::flag("big", "Over `--min-retained` or `--min-count`, matches `--class`, and not part \
                 of the runtime"))
            | computed(column::SIGNATURE)
            | computed(column::FINGERPRINT);
    }
}
