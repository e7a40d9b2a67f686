//! Garbage collections of Java, with their heap summaries and object counts.

use super::chunk::{Failure, Header};
use super::cursor::Cursor;
use super::fields::{Plan, Value};
use super::names::Names;
use super::recording::Recording;
use super::strings::NONE;
use heaplake_schemas::collections::{CollectionDetail, CollectionRow};
use heaplake_schemas::object_counts::ObjectCountRow;
use heaplake_schemas::replay::ABSENT;

/// Fields of `jdk.GarbageCollection`.
pub(crate) const COLLECTION: [&str; 7] =
    ["startTime", "duration", "gcId", "name", "cause", "sumOfPauses", "longestPause"];

/// Fields of `jdk.GCHeapSummary`.
pub(crate) const SUMMARY: [&str; 4] = ["gcId", "when", "heapSpace", "heapUsed"];

/// Fields of `jdk.GCPhasePause`.
pub(crate) const PAUSE: [&str; 1] = ["gcId"];

/// Fields of `jdk.ObjectCount` and `jdk.ObjectCountAfterGC`.
pub(crate) const COUNT: [&str; 5] = ["startTime", "gcId", "objectClass", "count", "totalSize"];

/// Collectors of only the young generation.
const YOUNG: [&str; 5] = ["DefNew", "ParallelScavenge", "ParNew", "G1New", "ZGC Minor"];

/// Causes that count as induced.
const WISHES: [&str; 5] = [
    "System.gc()",
    "JvmtiEnv ForceGarbageCollection",
    "Diagnostic Command",
    "Heap Inspection Initiated GC",
    "Heap Dump Initiated GC",
];

/// Condemned generations of a young and of a full collection, as bits.
const GENERATIONS: [u32; 2] = [0b1, 0b101];

/// Handles the end of a collection.
pub(crate) fn collection(
    [start, duration, gc, name, cause, sum, longest]: [Value; 7],
    names: &mut Names<'_, '_>,
) -> Result<(), Failure> {
    let header = names.constants.chunk.header;
    let start = start.number().unwrap_or(header.start_ticks);
    let end = header.nanos(start.saturating_add(duration.number().unwrap_or(0)));
    let collector = names.text(&name)?;
    let cause_text = names.text(&cause)?;
    let is = |list: &[&str], text: Option<String>| text.is_some_and(|text| list.contains(&text.as_str()));
    let is_young = is(&YOUNG, names.constants.text(&name)?);
    let is_wish = is(&WISHES, names.constants.text(&cause)?);
    let seconds = |value: &Value| value.number().map_or(f64::NAN, |ticks| header.span(ticks) as f64 / 1e9);
    let gc = number(&gc);
    let row = CollectionRow {
        gc,
        condemned: GENERATIONS[usize::from(!is_young)],
        reason: u32::from(is_wish),
        profiler_reason: 1,
        started_at_us: header.nanos(start).div_euclid(1000),
        pause_seconds: seconds(&sum),
        walked_objects: ABSENT,
        walk_missing: ABSENT,
        walk_extra: ABSENT,
        roots: [ABSENT; 4],
        ..bytemuck::Zeroable::zeroed()
    };
    let detail = CollectionDetail {
        collector,
        cause: cause_text,
        duration_seconds: seconds(&duration),
        longest_pause_seconds: seconds(&longest),
        ..bytemuck::Zeroable::zeroed()
    };
    names.to.pending(gc)?.ended = Some((end, row, detail));
    Ok(())
}

fn number(gc: &Value) -> u32 {
    gc.number().and_then(|gc| u32::try_from(gc).ok()).unwrap_or(NONE)
}

/// Handles a pause of a collection.
pub(crate) fn pause([gc]: [Value; 1], to: &mut Recording<'_>) -> Result<(), Failure> {
    to.pending(number(&gc))?.pauses += 1;
    Ok(())
}

/// Handles a heap summary before or after a collection.
pub(crate) fn summary(
    [gc, when, space, used]: [Value; 4],
    fields: &Cursor<'_>,
    names: &mut Names<'_, '_>,
) -> Result<(), Failure> {
    let is_after = names.constants.text(&when)?.is_some_and(|when| when.starts_with("After"));
    let heap = &mut names.to.pending(number(&gc))?.heap;
    heap[usize::from(is_after)] = used.amount().unwrap_or(ABSENT);
    if let (true, Value::Object(class, at)) = (is_after, space) {
        let plan = Plan::new(names.constants.types, class, &["committedSize"]);
        let size = plan.read::<1>(names.constants.types, &mut fields.from(at));
        heap[2] = size.and_then(|[size]| size.amount()).unwrap_or(ABSENT);
    }
    Ok(())
}

/// Handles the live objects of a class.
pub(crate) fn count(
    [time, gc, class, count, bytes]: [Value; 5],
    after_gc: bool,
    names: &mut Names<'_, '_>,
) -> Result<(), Failure> {
    let row = ObjectCountRow {
        gc: number(&gc),
        type_id: names.class(&class)?.type_id,
        counted_at_us: micros(&time, &names.constants.chunk.header),
        count: count.amount().unwrap_or(0),
        bytes: bytes.amount().unwrap_or(0),
        after_gc: u32::from(after_gc),
        padding: 0,
    };
    Ok(names.to.object_counts.push(names.to.scratch, row)?)
}

/// Microseconds since 1970 of a tick; `i64::MIN` without such a field.
pub(crate) fn micros(time: &Value, header: &Header) -> i64 {
    time.number().map_or(i64::MIN, |ticks| header.nanos(ticks).div_euclid(1000))
}
