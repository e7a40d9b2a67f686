//! Stage `kinds table`: the table of kinds of nodes.
//!
//! * Resident memory: three numbers for each kind.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full, or a sum exceeds 64 bits.
//! * Determinism: sums of integers; a total order of rows.
//! * Reference: the statistics view of Chrome DevTools, which adds up some kinds.

use crate::writer;
use arrow::array::{ArrayRef, StringArray};
use heaplake_kit::access::{column, document};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats};
use heaplake_lake::source::sizes;
use heaplake_schemas::kinds::TABLE;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, documents};
use std::cmp::Reverse;
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "kinds table",
    when: |setting| setting.has(TableName::Kinds),
    reads: &[
        document(documents::METADATA),
        column(columns::NODE_KIND),
        column(columns::NODE_SELF),
        column(columns::NODE_SHALLOW),
    ],
    fixed: 4 << 20,
    passes: "kinds and sizes of nodes once",
    run,
    ..Stage::NEW
};

/// Sums over the nodes of a kind. Sizes are bytes.
#[derive(Clone, Copy, Default)]
struct Kind {
    count: u64,
    own: u64,
    shallow: u64,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let metadata = job.metadata()?;
    let kinds = add_up(job)?;
    let mut rows: Vec<(&str, Kind)> = metadata.node_kinds.iter().map(String::as_str).zip(kinds).collect();
    rows.retain(|(_, kind)| kind.count > 0);
    rows.sort_by_key(|&(name, kind)| (Reverse(kind.shallow), name));
    let numbers = |of: fn(&Kind) -> u64| sizes(rows.iter().map(|(_, kind)| of(kind)).collect());
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(name, _)| name)));
    let mut table = writer::create(job, &TABLE)?;
    table.write(&[texts, numbers(|kind| kind.count), numbers(|kind| kind.own), numbers(|kind| kind.shallow)])?;
    writer::finish(job, table)
}

/// Counts and sizes by kind.
fn add_up(job: &Job<'_>) -> Result<[Kind; 256], StageError> {
    const TOO_LARGE: StageError = StageError::Overflow("the size of the heap");
    let Job { scratch, context, .. } = *job;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut own = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    context.progress.begin(STAGE.name, kinds.remaining());
    let mut sums = [Kind::default(); 256];
    while kinds.remaining() > 0 {
        let sum = &mut sums[usize::from(kinds.next()?)];
        sum.count += 1;
        sum.own = sum.own.checked_add(own.next()?).ok_or(TOO_LARGE)?;
        sum.shallow = sum.shallow.checked_add(shallow.next()?).ok_or(TOO_LARGE)?;
        if kinds.remaining().is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    Ok(sums)
}
