//! Stage `big classes`: the classes that deserve a closer look.
//!
//! * Computes: for every class whether it is big: it reaches the threshold of retained bytes or that of instances, has
//!   at least one instance of a kind outside the runtime, and matches one of the user's name patterns, if any. By
//!   default the thresholds are 1 % of the heap and of its nodes, as the class rows count them, but at least
//!   [`LEAST_RETAINED`] and [`LEAST_COUNT`].
//! * Resident memory: a byte per class.
//! * Passes over disk: one over the nodes.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread.
//! * Reference: none needed.

use glob::Pattern;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{
    ColumnMap, ColumnReader, ColumnWriter, Context, Job, Scratch, Stage, StageError, Stats, StringTable,
};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::options::{AnalysisOptions, LEAST_COUNT, LEAST_RETAINED};
use heaplake_schemas::scratch::{self as columns, Metadata, STRINGS, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "big classes",
    reads: &[
        document(documents::METADATA),
        texts(STRINGS),
        column(columns::CLASS_ROW),
        column(columns::CLASS_NAME),
        column(columns::NODE_CLASS),
        column(columns::NODE_KIND),
    ],
    writes: &[column(columns::CLASS_BIG)],
    fixed: 4 << 20,
    passes: "classes and kinds of nodes once",
    run,
    ..Stage::NEW
};

/// A class that is big if it has an instance of the right kind.
const CANDIDATE: u8 = 2;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, metadata.node_count);
    let mut big = context.budget.zeroed::<u8>(STAGE.name, job.class_count()?)?;
    let candidates = candidates(job.analysis(), &mut big, scratch)?;
    if candidates > 0 {
        confirm(metadata, &mut big, scratch, context)?;
    }
    let mut column = ColumnWriter::create(scratch, columns::CLASS_BIG)?;
    big.iter().try_for_each(|&state| column.push(u8::from(state == 1)))?;
    column.finish()?;
    context.progress.end();
    Ok(Stats { rows: big.iter().filter(|&&state| state == 1).count() as u64, spilled_bytes: 0 })
}

/// Marks the classes that qualify by sizes and name; returns their number.
fn candidates(options: &AnalysisOptions, big: &mut [u8], scratch: &Scratch) -> Result<u64, StageError> {
    let rows = ColumnMap::uncounted(scratch, columns::CLASS_ROW)?;
    let all = |of: fn(&ClassRow) -> u64| rows.iter().map(of).fold(0, u64::saturating_add);
    let least = &options.big;
    let min_retained = least.min_retained.unwrap_or_else(|| (all(|row| row.shallow_bytes) / 100).max(LEAST_RETAINED));
    let min_count = least.min_count.unwrap_or_else(|| (all(|row| row.count) / 100).max(LEAST_COUNT));
    // An invalid pattern matches nothing; the command line rejects it.
    let patterns: Vec<Pattern> = least.classes.iter().filter_map(|text| Pattern::new(text).ok()).collect();
    let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut count = 0;
    for row in rows.iter().filter(|row| row.retained_bytes >= min_retained || row.count >= min_count) {
        let class = row.class_id as usize;
        let name = || strings.text(names[class].index());
        if least.classes.is_empty() || patterns.iter().any(|pattern| pattern.matches(&name())) {
            big[class] = CANDIDATE;
            count += 1;
        }
    }
    Ok(count)
}

/// Makes candidates big that have an instance of a kind outside the runtime.
fn confirm(metadata: &Metadata, big: &mut [u8], scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut internal = [false; 256];
    metadata.internal_kinds.iter().for_each(|&kind| internal[usize::from(kind)] = true);
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut kind = ColumnReader::open(scratch, columns::NODE_KIND)?;
    for node in 0..metadata.node_count {
        let (state, kind) = (&mut big[class.next()?.index()], kind.next()?);
        if *state == CANDIDATE && !internal[usize::from(kind)] {
            *state = 1;
        }
        if node % (1 << 16) == 0 {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}
