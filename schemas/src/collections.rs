//! Table `collections`: one row per garbage collection, in the order in which they ended. Only in runs of
//! `heaplake replay`.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "collections.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `gc` | the runtime's number of the collection |
/// | `started_at` | null where the trace has no times |
/// | `generation` | oldest of the generations 0, 1, 2 that was condemned |
/// | `condemned` | all condemned generations; 3 is the large object heap, 4 the pinned one |
/// | `reason` | why, in words; null where the trace does not tell |
/// | `compacting`, `sweeping` | whether some generation was compacted, whether some was swept |
/// | `moved_ranges`, `surviving_ranges` | ranges reported as moved (also to where they were) and as surviving in place |
/// | `moved_objects`, `moved_bytes` | objects whose address changed |
/// | `survived_objects` | objects of condemned generations that live on |
/// | `dead_objects`, `dead_bytes` | those that do not |
/// | `live_objects`, `live_bytes` | known objects after the collection, of all generations; null, as the three before, where objects were not followed |
/// | `root_count` and by kind | roots reported; null where the trace has none |
/// | `pause_seconds` | from start to end of the collection; null where the trace has no times |
/// | `walked_objects`, `walk_missing`, `walk_extra` | where the trace has a walk of the heap at this collection: its objects, those of them that the replay does not know, and objects that the replay holds alive and the walk does not |
#[must_use]
pub fn schema() -> SchemaRef {
    let number = |name, nullable| Field::new(name, DataType::UInt64, nullable);
    Arc::new(Schema::new(vec![
        Field::new("gc", DataType::UInt32, false),
        Field::new("started_at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("generation", DataType::UInt8, false),
        Field::new("condemned", DataType::List(Arc::new(condemned())), false),
        Field::new("reason", DataType::Utf8, true),
        Field::new("compacting", DataType::Boolean, false),
        Field::new("sweeping", DataType::Boolean, false),
        number("moved_ranges", false),
        number("surviving_ranges", false),
        number("moved_objects", true),
        number("moved_bytes", true),
        number("survived_objects", true),
        number("dead_objects", true),
        number("dead_bytes", true),
        number("live_objects", true),
        number("live_bytes", true),
        number("root_count", true),
        number("stack_roots", true),
        number("finalizer_roots", true),
        number("handle_roots", true),
        number("other_roots", true),
        Field::new("pause_seconds", DataType::Float64, true),
        number("walked_objects", true),
        number("walk_missing", true),
        number("walk_extra", true),
    ]))
}

/// An element of `condemned`.
#[must_use]
pub fn condemned() -> Field {
    Field::new("item", DataType::UInt8, false)
}

/// One row, as the stage that replays a trace hands it on. Of the optional numbers, [`ABSENT`](crate::replay::ABSENT)
/// stands for none.
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
    /// Roots by kind: stack, finalizer queue, handle, other; optional.
    pub roots: [u64; 4],
    /// Objects of a walk of the heap; optional, as the next two.
    pub walked_objects: u64,
    /// Objects that the replay does not know.
    pub walk_missing: u64,
    /// Objects that only the replay has.
    pub walk_extra: u64,
}
