//! Table `collections`.

use crate::table::{self, ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::{Field, SchemaRef};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "collections",
    file: "collections.parquet",
    row: "garbage collection",
    order: "end of the collection",
    runs: Runs::Replay,
    condition: None,
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("gc", Type::UInt32, "The runtime's number"),
    optional("started_at", Type::Timestamp, "When it began; null without times"),
    required("generation", Type::UInt8, "Oldest condemned generation: 0, 1, 2; Java: 0 young, 2 all"),
    required("condemned", Type::List(&CONDEMNED), "All condemned generations; 3 large, 4 pinned object heap"),
    optional("reason", Type::Utf8, "Why it ran; null if unknown"),
    required("compacting", Type::Boolean, "Whether it compacted"),
    required("sweeping", Type::Boolean, "Whether it swept"),
    required("moved_ranges", Type::Int64, "Ranges reported as moved, even in place"),
    required("surviving_ranges", Type::Int64, "Ranges reported as surviving in place"),
    optional("moved_objects", Type::Int64, "Moved objects; null if not tracked"),
    optional("moved_bytes", Type::Int64, "Their sizes; null too"),
    optional("survived_objects", Type::Int64, "Survivors of condemned generations; null too"),
    optional("dead_objects", Type::Int64, "Objects that died; null too"),
    optional("dead_bytes", Type::Int64, "Their sizes; null too"),
    optional("live_objects", Type::Int64, "Known objects afterwards; null too"),
    optional("live_bytes", Type::Int64, "Their sizes; null too"),
    optional(
        "doubtful_objects",
        Type::Int64,
        "Objects that may have been reclaimed: by a concurrent collection without reported survivors, lost events, or \
         missing allocations; null too",
    ),
    optional("root_count", Type::Int64, "Roots reported; null if none are"),
    optional("stack_roots", Type::Int64, "On stacks; null too"),
    optional("finalizer_roots", Type::Int64, "In the finalizer queue; null too"),
    optional("handle_roots", Type::Int64, "Handles; null too"),
    optional("other_roots", Type::Int64, "Others; null too"),
    optional("pause_seconds", Type::Float64, "From start to end; Java: sum of its pauses; null without times"),
    optional("walked_objects", Type::Int64, "Objects of a heap walk; null without one"),
    optional("walk_missing", Type::Int64, "Of these, unknown to the replay; null too"),
    optional("walk_extra", Type::Int64, "Live in the replay but not in the walk; null too"),
    optional("collector", Type::Utf8, "Java: name of the collector; null for others, like the rest"),
    optional("duration_seconds", Type::Float64, "With concurrent phases; null too"),
    optional("longest_pause_seconds", Type::Float64, "Its longest pause; null too"),
    optional("pauses", Type::Int64, "Recorded pauses; null too"),
    optional("heap_used_before_bytes", Type::Int64, "Heap in use before; null if not recorded"),
    optional("heap_used_after_bytes", Type::Int64, "Heap in use afterwards; null if not recorded"),
    optional("heap_committed_bytes", Type::Int64, "Heap size afterwards; null if not recorded"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const CONDEMNED: Type = Type::UInt8;

/// An element of `condemned`.
pub fn condemned() -> Field {
    table::element(&CONDEMNED, false)
}

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
