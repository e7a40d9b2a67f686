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
    required("gc", Type::UInt32, "The runtime's number of the collection"),
    optional("started_at", Type::Timestamp, "When it began; null if the trace has no times"),
    required("generation", Type::UInt8, "Oldest condemned generation of 0, 1, 2; Java: 0 for the young one, 2 for all"),
    required(
        "condemned",
        Type::List(&CONDEMNED),
        "All condemned generations; 3 is the large object heap, 4 the pinned object heap",
    ),
    optional("reason", Type::Utf8, "Why it ran; null if the trace does not tell"),
    required("compacting", Type::Boolean, "Whether it compacted a generation"),
    required("sweeping", Type::Boolean, "Whether it swept a generation"),
    required("moved_ranges", Type::Int64, "Ranges reported as moved, even to where they were"),
    required("surviving_ranges", Type::Int64, "Ranges reported as surviving in place"),
    optional("moved_objects", Type::Int64, "Objects whose address changed; null if objects were not tracked"),
    optional("moved_bytes", Type::Int64, "Sum of their sizes; null likewise"),
    optional("survived_objects", Type::Int64, "Objects of condemned generations that survived; null likewise"),
    optional("dead_objects", Type::Int64, "Objects that died; null likewise"),
    optional("dead_bytes", Type::Int64, "Sum of their sizes; null likewise"),
    optional("live_objects", Type::Int64, "Known objects of all generations after the collection; null likewise"),
    optional("live_bytes", Type::Int64, "Sum of their sizes; null likewise"),
    optional(
        "doubtful_objects",
        Type::Int64,
        "Objects of which the trace does not tell whether this collection reclaimed them: it ran beside the program and \
         reported no survivors, or events were lost meanwhile, or not each allocation is in the trace; 0 where all is \
         told, null likewise",
    ),
    optional("root_count", Type::Int64, "Roots reported; null if the trace has none"),
    optional("stack_roots", Type::Int64, "Of these, on stacks; null likewise"),
    optional("finalizer_roots", Type::Int64, "Of these, in the finalizer queue; null likewise"),
    optional("handle_roots", Type::Int64, "Of these, handles; null likewise"),
    optional("other_roots", Type::Int64, "Of these, others; null likewise"),
    optional(
        "pause_seconds",
        Type::Float64,
        "From start to end of the collection; Java: the sum of its pauses; null if the trace has no times",
    ),
    optional("walked_objects", Type::Int64, "Objects of a heap walk at this collection; null if there is none"),
    optional("walk_missing", Type::Int64, "Of these, objects that the replay does not know; null likewise"),
    optional("walk_extra", Type::Int64, "Objects that are alive in the replay but not in the walk; null likewise"),
    optional(
        "collector",
        Type::Utf8,
        "Java: the collector, as the runtime names it; null for others, like what follows",
    ),
    optional(
        "duration_seconds",
        Type::Float64,
        "From its start to its end, with what ran beside the program; null likewise",
    ),
    optional("longest_pause_seconds", Type::Float64, "Its longest pause; null likewise"),
    optional("pauses", Type::Int64, "Its pauses that the recording has; null likewise"),
    optional(
        "heap_used_before_bytes",
        Type::Int64,
        "Heap in use before it; null likewise, and where the recording does not tell",
    ),
    optional(
        "heap_used_after_bytes",
        Type::Int64,
        "Heap in use after it; null likewise, and where the recording does not tell",
    ),
    optional(
        "heap_committed_bytes",
        Type::Int64,
        "Size of the heap after it; null likewise, and where the recording does not tell",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

const CONDEMNED: Type = Type::UInt8;

/// An element of `condemned`.
#[must_use]
pub fn condemned() -> Field {
    table::element(&CONDEMNED, false)
}

/// One row, as the stage that replays a trace hands it on. In optional numbers, [`ABSENT`](crate::replay::ABSENT)
/// means none.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollectionRow {
    /// The runtime's number.
    pub gc: u32,
    /// Bit `g` is set when generation `g` was condemned.
    pub condemned: u32,
    /// The runtime's code of the reason; `u32::MAX` for none.
    pub reason: u32,
    /// Whether the codes are those of a profiler (1 induced, else 0) rather than of the runtime's events.
    pub profiler_reason: u32,
    /// Microseconds since 1970; `i64::MIN` for none.
    pub started_at_us: i64,
    /// Seconds from start to end; not a number for none.
    pub pause_seconds: f64,
    /// Ranges reported as moved.
    pub moved_ranges: u64,
    /// Ranges reported as surviving in place.
    pub surviving_ranges: u64,
    /// Objects whose address changed.
    pub moved_objects: u64,
    /// Their sizes, bytes.
    pub moved_bytes: u64,
    /// Objects of condemned generations that live on.
    pub survived_objects: u64,
    /// Objects that died.
    pub dead_objects: u64,
    /// Their sizes, bytes.
    pub dead_bytes: u64,
    /// Known objects afterwards.
    pub live_objects: u64,
    /// Their sizes, bytes.
    pub live_bytes: u64,
    /// Objects of which the trace does not tell whether this collection reclaimed them.
    pub doubtful_objects: u64,
    /// Roots by kind: stack, finalizer queue, handle, other; optional.
    pub roots: [u64; 4],
    /// Objects of a walk of the heap; optional, like the next two.
    pub walked_objects: u64,
    /// Objects that the replay does not know.
    pub walk_missing: u64,
    /// Objects that only the replay has.
    pub walk_extra: u64,
}

/// What only recordings of Java tell of a collection, in the order of [`CollectionRow`]. What means null is as there.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollectionDetail {
    /// Its collector, as a position among the texts of the recording.
    pub collector: u32,
    /// Its cause, likewise.
    pub cause: u32,
    /// Seconds from start to end.
    pub duration_seconds: f64,
    /// Seconds of the longest pause.
    pub longest_pause_seconds: f64,
    /// Pauses.
    pub pauses: u64,
    /// Bytes in use before.
    pub heap_used_before: u64,
    /// Bytes in use after.
    pub heap_used_after: u64,
    /// Size of the heap after it, bytes.
    pub heap_committed: u64,
}
