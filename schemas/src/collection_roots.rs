//! Table `collection_roots`.

use crate::column::{self, Type, Unit};
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "object with roots of one kind at a collection",
    order: "collection, `address`, `kind` (stack, finalizer, handle, other), `flags`, `root_id`",
    runs: Runs::Replay,
    condition: Some("with `--tracks`"),
    notes: &["Addresses are those after the collection."],
    columns: RootRow::SCHEMAS,
    ..table!("collection_roots")
};

/// Names of kinds.
pub const KINDS: [&str; 4] = ["stack", "finalizer", "handle", "other"];

rows! {
    TABLE from Column::new("replay.root");
    /// A row as the replay writes it; `u32::MAX` means null.
    #[derive(Eq)]
    pub struct RootRow {
        gc: u32 => id("Collection");
        padding: u32;
        address: u64 => address("Referenced object; 0 for an empty root");
        kind: u32 => name(&KINDS, "`stack`, `finalizer`, `handle` or `other`");
        flags: u32
            => u32(column::column("flags", Type::UInt32, Unit::Code, "Sum of 1 (pinned), 2 (weak), 4 (may point \
                 inside the object), 8 (reference-counted)"));
        id: u64 => address("The runtime's id: handle, or function of a stack; 0 for none").named("root_id");
        count: u64 => count("Equal roots");
        object: u32 => id("Object, as in `object_tracks`; null if not in the trace").or_null();
        type_id: u32 => id("Type; null too").or_null();
    }
}
