//! Stage `live allocations`: live allocations of a snapshot, by class, stack and time.
//!
//! * Computes: the rows of `live_allocations`, of `allocation_types` and of `samples`: sums over the nodes with a stack
//!   or an interval of the time line.
//! * Resident memory: 16 bytes per class, paged where the budget does not allow it, and 16 per sample; an eighth of the
//!   budget while rows are sorted.
//! * Passes over disk: one over class, stack, interval and size of nodes; nodes with a stack or an interval are sorted.
//! * Worst case: sorting the nodes.
//! * Fails when: the samples do not fit into the budget, or a sum exceeds 64 bits.
//! * Determinism: a total order of rows.
//! * Reference: Chrome DevTools, `AllocationProfile` and `buildSamples`.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnReader, ColumnWriter, Job, ReadAt, Stage, StageError, Stats, WriteAt,
};
use heaplake_schemas::allocation_types::TypeRow;
use heaplake_schemas::live_allocations::{LiveRow, ROWS as LIVE};
use heaplake_schemas::options::TableName;
use heaplake_schemas::replay::{ABSENT, TYPES};
use heaplake_schemas::samples::{ROWS as SAMPLES, SampleRow};
use heaplake_schemas::scratch::{self as columns, Column};
use std::cmp::Reverse;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: NAME,
    version: 2,
    when: |setting| {
        let tables = [TableName::AllocationTypes, TableName::LiveAllocations, TableName::Samples];
        tables.into_iter().any(|table| setting.has(table))
    },
    reads: &[
        column(columns::NODE_CALL),
        column(columns::NODE_SAMPLE),
        column(columns::NODE_CLASS),
        column(columns::NODE_SHALLOW),
        column(columns::CLASS_NAME),
        column(columns::TRACE_PLACE).if_any(),
        column(columns::SAMPLE_TIME).if_any(),
        column(columns::SAMPLE_LAST_ID).if_any(),
    ],
    writes: &[column(LIVE), column(TYPES).if_any(), column(SAMPLES).if_any()],
    fixed: 10 << 20,
    temporary: &[per_node::<Object>()],
    passes: "class, stack, interval and size of nodes once",
    run,
    ..Stage::NEW
};

const NAME: &str = "live allocations";

/// No stack, no interval.
const NONE: u32 = u32::MAX;

/// Objects, while they are sorted.
const ORDER: [Column<Object>; 2] = [Column::new("live_allocations.order"), Column::new("live_allocations.order.2")];

/// An object in the order of rows. Without a sample or a node, it comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Object {
    sample: u32,
    class: u32,
    node: u32,
    padding: u32,
    bytes: u64,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let nodes = ColumnReader::open(scratch, columns::NODE_CALL)?.remaining();
    context.progress.begin(NAME, nodes);
    let mut sorter = Sorter::new("live allocations", nodes as usize, ORDER, &context.budget, scratch)?;
    let spilled_bytes = collect(&mut sorter, job)?;
    let mut plan = ArrayPlan::of(job, NAME);
    let of_class = plan.one(filled(job.class_count()?, [0_u64; 2]))?;
    let mut sums = Sums { samples: samples(job)?, of_class };
    let mut sorted = sorter.finish()?;
    let mut writer = ColumnWriter::create(scratch, LIVE)?;
    let mut row: Option<LiveRow> = None;
    while let Some(object) = sorted.pop()? {
        sums.add(&object)?;
        let Object { sample, class, node, bytes, .. } = object;
        match &mut row {
            Some(row) if (row.sample, row.class, row.node) == (sample, class, node) => {
                (row.count, row.bytes) = (row.count + 1, add(row.bytes, bytes)?);
            }
            row => {
                let ended = row.replace(LiveRow { sample, class, node, padding: 0, count: 1, bytes });
                ended.map_or(Ok(()), |row| writer.push(row))?;
                context.check()?;
            }
        }
    }
    row.map_or(Ok(()), |row| writer.push(row))?;
    let rows = writer.finish()?;
    drop(sorted);
    sums.write(job)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: spilled_bytes + plan.spilled_bytes() })
}

/// Sums of samples, and counts and bytes of the objects of each class with a stack.
struct Sums {
    samples: BudgetVec<SampleRow>,
    of_class: Array<[u64; 2]>,
}

impl Sums {
    fn add(&mut self, object: &Object) -> Result<(), StageError> {
        if let Some(sample) = self.samples.get_mut(object.sample as usize) {
            (sample.count, sample.bytes) = (sample.count + 1, add(sample.bytes, object.bytes)?);
        }
        if object.node != NONE {
            let [count, sum] = self.of_class.get(object.class as usize)?;
            self.of_class.set(object.class as usize, [count + 1, add(sum, object.bytes)?])?;
        }
        Ok(())
    }

    fn write(mut self, job: &Job<'_>) -> Result<(), StageError> {
        if !self.samples.is_empty() {
            ColumnWriter::write_all(job.scratch, SAMPLES, &self.samples)?;
        }
        if job.scratch.has(columns::TRACE_PLACE) { self.write_types(job) } else { Ok(()) }
    }

    /// Writes a row for each class with objects that have a stack: by bytes descending, then by class.
    fn write_types(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let mut rows = job.context.budget.growing("live allocations: classes");
        for class in 0..job.class_count()? {
            let [count, bytes] = self.of_class.get(class)?;
            if count > 0 {
                rows.push(TypeRow {
                    type_id: class as u32,
                    interval: NONE,
                    allocated_count: ABSENT,
                    bytes: ABSENT,
                    sampled_count: count,
                    sampled_bytes: bytes,
                    estimated_bytes: ABSENT,
                    low_bytes: ABSENT,
                    high_bytes: ABSENT,
                    exact_bytes: ABSENT,
                    live_count: count,
                    live_bytes: bytes,
                })?;
            }
        }
        rows.sort_unstable_by_key(|row: &TypeRow| (Reverse(row.live_bytes), row.type_id));
        ColumnWriter::write_all(job.scratch, TYPES, &rows).map(drop)
    }
}

fn add(sum: u64, bytes: u64) -> Result<u64, StageError> {
    let Some(sum) = sum.checked_add(bytes) else { return Err(StageError::Overflow("the size of the heap")) };
    Ok(sum)
}

/// Sorts the nodes with a stack or an interval; returns the spilled bytes.
fn collect(sorter: &mut Sorter<'_, Object>, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut calls = ColumnReader::open(scratch, columns::NODE_CALL)?;
    let mut intervals = ColumnReader::open(scratch, columns::NODE_SAMPLE)?;
    let mut classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut plan = ArrayPlan::of(job, NAME);
    let has_tree = scratch.has(columns::TRACE_PLACE);
    let mut places = if has_tree { Some(plan.one(lookup(columns::TRACE_PLACE))?) } else { None };
    while calls.remaining() > 0 {
        let (call, sample, class, bytes) = (calls.next()?, intervals.next()?, classes.next()?, sizes.next()?);
        let node = match &mut places {
            Some(places) if call != NONE => places.get(call as usize)?,
            _ => NONE,
        };
        if node != NONE || sample != NONE {
            sorter.push(Object { sample, class: class.0, node, padding: 0, bytes })?;
        }
        context.step_every(1 << 16, calls.remaining())?;
    }
    Ok(plan.spilled_bytes())
}

/// Returns the samples with empty sums.
fn samples(job: &Job<'_>) -> Result<BudgetVec<SampleRow>, StageError> {
    const WHO: &str = "live allocations: samples";
    let Job { scratch, context, .. } = *job;
    if !scratch.has(columns::SAMPLE_TIME) {
        return Ok(context.budget.growing(WHO));
    }
    let mut times = ColumnReader::open(scratch, columns::SAMPLE_TIME)?;
    let mut ids = ColumnReader::open(scratch, columns::SAMPLE_LAST_ID)?;
    let mut samples = context.budget.with_room(WHO, times.remaining() as usize)?;
    while times.remaining() > 0 {
        samples.push(SampleRow { time: times.next()?, last_id: ids.next()?, count: 0, bytes: 0 })?;
    }
    Ok(samples)
}
