//! Table `collections`.

use crate::column::{Type, Unit, bytes, code, column, count, flag, id, seconds, text, time};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "garbage collection",
    order: "end of the collection",
    runs: Runs::Replay,
    columns: &[
        id("gc", "The runtime's number"),
        time("started_at", "When it began; null without times").or_null(),
        code("generation", "Oldest condemned generation: 0, 1, 2; Java: 0 young, 2 all"),
        column(
            "condemned",
            Type::List(&Type::UInt8),
            Unit::Code,
            "All condemned generations; 3 large, 4 pinned object \
         heap",
        ),
        text("reason", "Why it ran; null if unknown").or_null(),
        flag("compacting", "Whether it compacted"),
        flag("sweeping", "Whether it swept"),
        count("moved_ranges", "Ranges reported as moved, even in place"),
        count("surviving_ranges", "Ranges reported as surviving in place"),
        count("moved_objects", "Moved objects; null if not tracked").or_null(),
        bytes("moved_bytes", "Their sizes; null too").or_null(),
        count("survived_objects", "Survivors of condemned generations; null too").or_null(),
        count("dead_objects", "Objects that died; null too").or_null(),
        bytes("dead_bytes", "Their sizes; null too").or_null(),
        count("live_objects", "Known objects afterwards; null too").or_null(),
        bytes("live_bytes", "Their sizes; null too").or_null(),
        count(
            "doubtful_objects",
            "Objects that may have been reclaimed: by a concurrent collection without reported \
         survivors, lost events, or \
         missing allocations; null too",
        )
        .or_null(),
        count("root_count", "Roots reported; null if none are").or_null(),
        count("stack_roots", "On stacks; null too").or_null(),
        count("finalizer_roots", "In the finalizer queue; null too").or_null(),
        count("handle_roots", "Handles; null too").or_null(),
        count("other_roots", "Others; null too").or_null(),
        seconds("pause_seconds", "From start to end; Java: sum of its pauses; null without times").or_null(),
        count("walked_objects", "Objects of a heap walk; null without one").or_null(),
        count("walk_missing", "Of these, unknown to the replay; null too").or_null(),
        count("walk_extra", "Live in the replay but not in the walk; null too").or_null(),
        text("collector", "Java: name of the collector; null for others, like the rest").or_null(),
        seconds("duration_seconds", "With concurrent phases; null too").or_null(),
        seconds("longest_pause_seconds", "Its longest pause; null too").or_null(),
        count("pauses", "Recorded pauses; null too").or_null(),
        bytes("heap_used_before_bytes", "Heap in use before; null if not recorded").or_null(),
        bytes("heap_used_after_bytes", "Heap in use afterwards; null if not recorded").or_null(),
        bytes("heap_committed_bytes", "Heap size afterwards; null if not recorded").or_null(),
    ],
    ..table!("collections")
};

/// A row as the replay writes it. [`ABSENT`](crate::replay::ABSENT) means null in optional numbers.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollectionRow {
    /// The runtime's number.
    pub gc: u32,
    /// Bit `g` is set when generation `g` was condemned.
    pub condemned: u32,
    /// The runtime's reason code; `u32::MAX` for none.
    pub reason: u32,
    /// Whether the code is a profiler's (1 induced, else 0) rather than the runtime's.
    pub profiler_reason: u32,
    /// Microseconds since 1970; `i64::MIN` for none.
    pub started_at_us: i64,
    /// Seconds from start to end; NaN for none.
    pub pause_seconds: f64,
    /// Ranges reported as moved.
    pub moved_ranges: u64,
    /// Ranges reported as surviving in place.
    pub surviving_ranges: u64,
    /// Objects whose address changed.
    pub moved_objects: u64,
    /// Their sizes, bytes.
    pub moved_bytes: u64,
    /// Surviving objects of condemned generations.
    pub survived_objects: u64,
    /// Objects that died.
    pub dead_objects: u64,
    /// Their sizes, bytes.
    pub dead_bytes: u64,
    /// Known objects afterwards.
    pub live_objects: u64,
    /// Their sizes, bytes.
    pub live_bytes: u64,
    /// Objects that this collection may or may not have reclaimed.
    pub doubtful_objects: u64,
    /// Roots by kind: stack, finalizer queue, handle, other; optional.
    pub roots: [u64; 4],
    /// Objects of a heap walk; optional, like the next two.
    pub walked_objects: u64,
    /// Of these, objects unknown to the replay.
    pub walk_missing: u64,
    /// Live objects that only the replay has.
    pub walk_extra: u64,
}

/// Details of a collection that only Java recordings have, in the order of [`CollectionRow`]; null as there.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollectionDetail {
    /// Collector, as a text id of the recording.
    pub collector: u32,
    /// Cause, likewise.
    pub cause: u32,
    /// Seconds from start to end.
    pub duration_seconds: f64,
    /// Seconds of the longest pause.
    pub longest_pause_seconds: f64,
    /// Pauses.
    pub pauses: u64,
    /// Bytes in use before it.
    pub heap_used_before: u64,
    /// Bytes in use after it.
    pub heap_used_after: u64,
    /// Size of the heap after it, bytes.
    pub heap_committed: u64,
}
