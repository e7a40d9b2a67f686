//! Table `old_objects`.

use crate::row::rows;
use crate::scratch_column::{Column, RECORDING_TEXTS, TYPE_NAMES};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "old object sample in a recording of Java",
    order: "`sample`",
    runs: Runs::Replay,
    condition: Some("for recordings with old object samples"),
    notes: &["`path` leads from the root to the object: `Class.field` for a field, `Class[n]` for an array element, \
         without addresses and indices, so equal paths are one leak. `old_object_chains` has each step."],
    columns: OldObjectRow::SCHEMAS,
    ..table!("old_objects")
};

rows! {
    TABLE from Column::new("replay.old_object");
    /// A row as the replay writes it. Texts are text ids of the recording; `u32::MAX`, [`ABSENT`](crate::replay::ABSENT),
    /// `i64::MIN` and NaN mean null.
    pub struct OldObjectRow {
        sample: u32 => id("Sample number, in order of recording");
        type_id: u32
            => id("Numbered as in `allocation_types`")
            | text(TYPE_NAMES, "Name").named("type");
        address: u64 => address("Its address; null without a chain").or_null();
        allocated_at_us: i64 => time("Allocation time; null if not recorded").named("allocated_at").or_null();
        age_seconds: f64 => seconds("Age when the sample was written; null too").or_null();
        bytes: u64 => bytes("Its size; null before JDK 19").or_null();
        array_elements: u64 => count("Length of an array; null for others").or_null();
        heap_used_bytes: u64 => bytes("Heap in use after the previous collection; null too").or_null();
        thread: u32 => text(RECORDING_TEXTS, "Allocating thread; null too").or_null();
        function: u32 => text(RECORDING_TEXTS, "Allocating function; null without a stack").or_null();
        stack: u32
            => text(RECORDING_TEXTS, "Functions, outermost first, separated by `;`; null without a stack").or_null();
        description: u32 => text(RECORDING_TEXTS, "The runtime's description; null if none").or_null();
        root_system: u32
            => text(RECORDING_TEXTS, "Part of the runtime that has the root; null without a chain").or_null();
        root_type: u32 => text(RECORDING_TEXTS, "Kind of the root; null too").or_null();
        root_description: u32 => text(RECORDING_TEXTS, "The runtime's description; null if none").or_null();
        path: u32 => text(RECORDING_TEXTS, "Path in classes and fields; null without a chain").or_null();
        chain_length: u32 => count_from_u32("Objects of the chain");
        chain_cut: u32 => flag("Whether the chain is cut");
    }
}
