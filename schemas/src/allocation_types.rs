//! Table `allocation_types`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "allocated type",
    order: "`bytes` descending, `type_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "`bytes` is the best value known. The `estimated_` columns use the sample alone, for comparison. How often \
         the intervals hold: [limits](limits.md#sampling).",
        "A snapshot has a row per class with live objects that have a stack; `sampled_count` and `live_count` count \
         these, nothing is estimated. `type_id` is `class_id`, rows are sorted by `live_bytes`, and \
         `live_allocations` has the same by stack.",
    ],
    columns: TypeRow::SCHEMAS,
    ..table!("allocation_types")
};

rows! {
    TABLE from Column::new("replay.type");
    /// A row as the replay writes it. [`ABSENT`](crate::replay::ABSENT) means null in optional numbers.
    #[derive(Eq)]
    pub struct TypeRow {
        type_id: u32
            => id("Type number in this run, in order of first occurrence")
            | computed(column::text("type", "Name, as the runtime writes it"));
        interval: u32;
        allocated_count: u64 => count("Allocated objects, exact; null for snapshots and samples by bytes").or_null();
        bytes: u64 => bytes("`exact_bytes` if known, else `estimated_bytes`; null without both").or_null();
        sampled_count: u64 => count("Objects sampled with size and stack");
        sampled_bytes: u64 => bytes("Their sizes");
        estimated_bytes: u64 => bytes("All bytes, from sampled sizes and exact count; null without samples").or_null();
        low_bytes: u64
            => bytes("Lower end of its 95 % interval; null if the trace is a sample, except by steps of \
                 bytes").named("estimated_low_bytes").or_null();
        high_bytes: u64 => bytes("Upper end; null too").named("estimated_high_bytes").or_null();
        exact_bytes: u64 => bytes("Sum of all sizes; null if the trace lacks some").or_null();
        live_count: u64 => count("Objects alive at the end; null if deaths are unknown").or_null();
        live_bytes: u64
            => bytes("Their sizes; null too").or_null()
            | also(count_u32("interval", |row: &TypeRow| row.interval, "Mean number of objects per sampled object, for \
                 frequent types; null if the trace is a sample").or_null())
            | computed(column::SIGNATURE)
            | computed(column::FINGERPRINT);
    }
}
