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
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{nullable_sizes, read, sizes};
use heaplake_schemas::collections::{CollectionDetail, CollectionRow, TABLE};
use heaplake_schemas::column::{Type, element};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{ABSENT, COLLECTION_DETAILS, COLLECTIONS, METADATA, Metadata, RECORDING_TEXTS};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "collections",
    version: 3,
    when: |setting| setting.traces(TraceTable::Collections),
    reads: &[
        document(METADATA),
        column(COLLECTIONS),
        column(COLLECTION_DETAILS).if_any(),
        texts(RECORDING_TEXTS).if_any(),
    ],
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
    let metadata: Metadata = scratch.read_document(METADATA)?;
    let mut rows = ColumnReader::open(scratch, COLLECTIONS)?;
    let mut details = Details::open(scratch)?;
    context.progress.begin(STAGE.name, rows.remaining());
    let mut table = writer::create(job, &TABLE)?;
    while rows.remaining() > 0 {
        let count = rows.remaining().min(ROWS);
        context.step(count)?;
        let rows = read(&mut rows, count as usize)?;
        let details = details.as_mut().map_or_else(|| Ok(Vec::new()), |details| details.next(rows.len()))?;
        let mut columns = columns(&rows, metadata.tracked);
        if !details.is_empty() {
            columns[REASON] = Arc::new(StringArray::from_iter(details.iter().map(|detail| detail.cause.as_deref())));
        }
        columns.extend(columns_of_java(&details, rows.len()));
        table.write(&columns)?;
    }
    writer::finish(job, table)
}

/// Position of the column of reasons.
const REASON: usize = 4;

/// Additional data of Java recordings.
struct Details {
    rows: ColumnReader<CollectionDetail>,
    texts: StringTable,
}

/// Additional data of one garbage collection, with its texts.
struct Detail {
    row: CollectionDetail,
    collector: Option<String>,
    cause: Option<String>,
}

impl Details {
    fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(COLLECTION_DETAILS) {
            return Ok(None);
        }
        let texts = StringTable::open(scratch, RECORDING_TEXTS)?;
        Ok(Some(Self { rows: ColumnReader::open(scratch, COLLECTION_DETAILS)?, texts }))
    }

    fn next(&mut self, count: usize) -> Result<Vec<Detail>, StageError> {
        let rows = read(&mut self.rows, count)?;
        let text = |at: u32| (at != u32::MAX).then(|| self.texts.text(at as usize).into_owned());
        Ok(rows.into_iter().map(|row| Detail { row, collector: text(row.collector), cause: text(row.cause) }).collect())
    }
}

/// Columns that only Java recordings have; null for rows without details.
fn columns_of_java(details: &[Detail], rows: usize) -> Vec<ArrayRef> {
    let row = |at: usize| details.get(at).map(|detail| &detail.row);
    let amount = |of: fn(&CollectionDetail) -> u64| -> ArrayRef {
        let values: Vec<u64> = (0..rows).map(|at| row(at).map_or(ABSENT, of)).collect();
        let valid = BooleanBuffer::collect_bool(rows, |at| values[at] != ABSENT);
        nullable_sizes(values, valid)
    };
    let seconds = |of: fn(&CollectionDetail) -> f64| -> ArrayRef {
        let seconds = (0..rows).map(|at| row(at).map(of).filter(|seconds| !seconds.is_nan()));
        Arc::new(Float64Array::from_iter(seconds))
    };
    let collectors = (0..rows).map(|at| details.get(at).and_then(|detail| detail.collector.as_deref()));
    vec![
        Arc::new(StringArray::from_iter(collectors)),
        seconds(|row| row.duration_seconds),
        seconds(|row| row.longest_pause_seconds),
        amount(|row| row.pauses),
        amount(|row| row.heap_used_before),
        amount(|row| row.heap_used_after),
        amount(|row| row.heap_committed),
    ]
}

/// Columns of the schema that all traces have. The fate of objects is null unless they were `tracked`.
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
        known(|row| row.doubtful_objects),
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
    let mut lists = ListBuilder::new(UInt8Builder::new()).with_field(element(&Type::UInt8, false));
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
