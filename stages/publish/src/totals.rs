//! Stage `totals`: sums over all nodes, if no table of nodes is written.
//!
//! * Computes: numbers and sizes of all nodes, of reachable and of detached ones.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: a sum exceeds 64 bits.
//! * Determinism: sums of integers.
//! * Reference: none needed.
//!
//! The table of nodes has these columns and adds them up on the way, so this stage reuses its sources.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt8Type;
use heaplake_kit::access::{column, document};
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats};
use heaplake_lake::source::{Source, array, read, sizes};
use heaplake_schemas::options::TableName;
use heaplake_schemas::run::Totals;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, documents};
use std::sync::Arc;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "totals",
    when: |setting| setting.analysis(|options| !options.tables.has(TableName::Nodes)),
    reads: &[
        document(documents::METADATA),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_NATIVE).if_any(),
        column(columns::NODE_PREORDER),
        column(columns::NODE_DETACHED).if_any(),
    ],
    writes: &[document(documents::TOTALS)],
    fixed: 4 << 20,
    passes: "sizes once",
    run,
    ..Stage::NEW
};

/// Rows of a batch.
const BATCH: u64 = 1 << 16;

/// Writes the document. If a format keeps no garbage, all nodes are reachable.
pub(crate) fn keep(mut totals: Totals, metadata: &Metadata, scratch: &Scratch) -> Result<(), StageError> {
    if !metadata.keeps_garbage {
        (totals.reachable_count, totals.reachable_bytes) = (metadata.node_count, totals.shallow_bytes);
    }
    scratch.write_document(documents::TOTALS, &totals)
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = job.metadata()?;
    context.progress.begin(STAGE.name, metadata.node_count);
    let mut totals = Totals::default();
    let Totals { shallow_bytes, native_bytes, reachable_count, reachable_bytes, detached_count } = &mut totals;
    let mut sources = vec![summed(scratch, columns::NODE_SHALLOW, shallow_bytes)?];
    if metadata.has_native {
        sources.push(summed(scratch, columns::NODE_NATIVE, native_bytes)?);
    }
    if metadata.keeps_garbage {
        sources.push(reachable(scratch, reachable_count, reachable_bytes)?);
    }
    if scratch.has(columns::NODE_DETACHED) {
        sources.push(detached(scratch, detached_count)?);
    }
    let mut left = metadata.node_count;
    while left > 0 {
        let rows = left.min(BATCH);
        for source in &mut sources {
            if let Source::Values(next) = source {
                next(rows as usize)?;
            }
        }
        left -= rows;
        context.step(rows)?;
    }
    drop(sources);
    keep(totals, &metadata, scratch)?;
    context.progress.end();
    Ok(Stats { rows: metadata.node_count, spilled_bytes: 0 })
}

/// Column of sizes, which are added up.
pub(crate) fn summed<'a>(scratch: &Scratch, column: Column<u64>, sum: &'a mut u64) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, column)?;
    Ok(Source::values(move |rows| {
        let values = read(&mut column, rows)?;
        let all = values.iter().try_fold(*sum, |sum, &bytes| sum.checked_add(bytes));
        let Some(all) = all else { return Err(StageError::Overflow("the size of the heap")) };
        *sum = all;
        Ok(sizes(values))
    }))
}

/// Column that counts reachable nodes. Used only if a format keeps garbage; elsewhere all nodes are reachable.
pub(crate) fn reachable<'a>(
    scratch: &Scratch,
    count: &'a mut u64,
    bytes: &'a mut u64,
) -> Result<Source<'a>, StageError> {
    let mut numbers = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    Ok(Source::values(move |rows| {
        let (numbers, sizes) = (read(&mut numbers, rows)?, read(&mut sizes, rows)?);
        for (_, &size) in numbers.iter().zip(&sizes).filter(|(number, _)| !number.is_none()) {
            *count += 1;
            let Some(all) = bytes.checked_add(size) else { return Err(StageError::Overflow("the size of the heap")) };
            *bytes = all;
        }
        let found = BooleanBuffer::collect_bool(rows, |row| !numbers[row].is_none());
        Ok(Arc::new(BooleanArray::new(found, None)))
    }))
}

/// Column of states, which counts detached nodes.
pub(crate) fn detached<'a>(scratch: &Scratch, count: &'a mut u64) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, columns::NODE_DETACHED)?;
    Ok(Source::values(move |rows| {
        let values = read(&mut column, rows)?;
        *count += values.iter().filter(|&&state| state == 2).count() as u64;
        Ok(array::<UInt8Type>(values))
    }))
}
