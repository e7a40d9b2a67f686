//! Stage `collections`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::collections`].

use crate::writer;
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, ListBuilder, StringArray, TimestampMicrosecondArray, UInt8Array,
    UInt8Builder, UInt32Array,
};
use arrow::buffer::BooleanBuffer;
use heaplake_kit::access::{column, document};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats};
use heaplake_lake::source::{nullable_sizes, read, sizes};
use heaplake_schemas::collections::{CollectionRow, FILE, condemned, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{ABSENT, COLLECTIONS, FACTS, Facts};
use std::sync::Arc;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "collections",
    when: |setting| setting.traces(TraceTable::Collections),
    reads: &[document(FACTS), column(COLLECTIONS)],
    fixed: 8 << 20,
    passes: "its rows once",
    run,
    ..Stage::NEW
};

/// Maximum number of rows of a row group.
const ROWS: u64 = 1 << 14;

/// Reasons of garbage collections as the profiling interface reports them, by code.
const PROFILER_REASONS: [&str; 2] = ["other", "induced"];

/// The same for the runtime's events.
const REASONS: [&str; 14] = [
    "small object allocation",
    "induced",
    "low memory",
    "empty",
    "large object allocation",
    "out of space for small objects",
    "out of space for large objects",
    "induced, not forced",
    "stress",
    "induced by low memory",
    "induced, compacting",
    "low memory of the host",
    "full blocking after partial marking",
    "low memory of the host, blocking",
];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let facts: Facts = scratch.read_document(FACTS)?;
    let mut rows = ColumnReader::open(scratch, COLLECTIONS)?;
    context.progress.begin(STAGE.name, rows.remaining());
    let mut table = writer::create(job, (FILE, schema()))?;
    while rows.remaining() > 0 {
        let count = rows.remaining().min(ROWS);
        context.step(count)?;
        table.write(&columns(&read(&mut rows, count as usize)?, facts.tracked))?;
    }
    writer::finish(job, table)
}

/// The columns of the schema. The fate of objects is known only if they were `tracked`.
fn columns(rows: &[CollectionRow], tracked: bool) -> Vec<ArrayRef> {
    let number = |of: fn(&CollectionRow) -> u64| sizes(rows.iter().map(of).collect());
    let optional = |of: fn(&CollectionRow) -> u64| -> ArrayRef {
        let values: Vec<u64> = rows.iter().map(of).collect();
        let valid = BooleanBuffer::collect_bool(values.len(), |row| values[row] != ABSENT);
        nullable_sizes(values, valid)
    };
    let known = |of: fn(&CollectionRow) -> u64| if tracked { optional(of) } else { optional(|_| ABSENT) };
    let flag = |of: fn(&CollectionRow) -> bool| -> ArrayRef {
        Arc::new(BooleanArray::from(rows.iter().map(of).collect::<Vec<_>>()))
    };
    let started = rows.iter().map(|row| (row.started_at_us != i64::MIN).then_some(row.started_at_us));
    let oldest = |row: &CollectionRow| (row.condemned & 0b111).checked_ilog2().unwrap_or(0) as u8;
    let pause = rows.iter().map(|row| Some(row.pause_seconds).filter(|seconds| !seconds.is_nan()));
    vec![
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.gc))),
        Arc::new(TimestampMicrosecondArray::from_iter(started).with_timezone("UTC")),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(oldest))),
        condemned_lists(rows),
        Arc::new(StringArray::from_iter(rows.iter().map(reason))),
        flag(|row| row.moved_ranges > 0),
        flag(|row| row.surviving_ranges > 0),
        number(|row| row.moved_ranges),
        number(|row| row.surviving_ranges),
        known(|row| row.moved_objects),
        known(|row| row.moved_bytes),
        known(|row| row.survived_objects),
        known(|row| row.dead_objects),
        known(|row| row.dead_bytes),
        known(|row| row.live_objects),
        known(|row| row.live_bytes),
        optional(|row| if row.roots[0] == ABSENT { ABSENT } else { row.roots.iter().sum() }),
        optional(|row| row.roots[0]),
        optional(|row| row.roots[1]),
        optional(|row| row.roots[2]),
        optional(|row| row.roots[3]),
        Arc::new(Float64Array::from_iter(pause)),
        optional(|row| row.walked_objects),
        known(|row| row.walk_missing),
        known(|row| row.walk_extra),
    ]
}

fn condemned_lists(rows: &[CollectionRow]) -> ArrayRef {
    let mut lists = ListBuilder::new(UInt8Builder::new()).with_field(condemned());
    for row in rows {
        (0..32).filter(|generation| row.condemned >> generation & 1 == 1).for_each(|generation| {
            lists.values().append_value(generation);
        });
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn reason(row: &CollectionRow) -> Option<&'static str> {
    let names: &[&str] = if row.profiler_reason == 1 { &PROFILER_REASONS } else { &REASONS };
    names.get(row.reason as usize).copied()
}
