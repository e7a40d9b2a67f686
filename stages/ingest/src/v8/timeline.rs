//! Stage `time line`: the stack and the time-line interval in which each node was allocated, for snapshots with
//! allocation tracking.
//!
//! * Computes: for each node its row in the trace tree, and the first sample with a last assigned id of at least the
//!   node's id. Nodes with even ids, which V8 gives to objects outside its heap, have no interval; ids beyond the last
//!   sample belong to objects created by the snapshot itself. Does nothing for a snapshot without a trace tree and
//!   samples.
//! * Resident memory: 8 bytes per row of the trace tree, and per sample.
//! * Passes over disk: one over ids and trace nodes.
//! * Worst case: a binary search per node in the rows of the tree, and one in the samples.
//! * Fails when: the tree and the samples do not fit into the budget.
//! * Determinism: one thread; of rows with one id the last counts, as in DevTools.
//! * Reference: Chrome DevTools, `buildSamples` and `AllocationProfile`.

use heaplake_kit::access::column;
use heaplake_kit::{BudgetVec, ColumnReader, Context, Job, Scratch, Stage, StageError, Stats, create_all};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch as columns;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "time line",
    when: |setting| {
        let tables = [
            TableName::AllocationTypes,
            TableName::AllocationFunctions,
            TableName::AllocationCallees,
            TableName::LiveAllocations,
            TableName::Samples,
        ];
        tables.into_iter().any(|table| setting.has(table))
    },
    reads: &[
        column(columns::NODE_ID),
        column(columns::NODE_TRACE).if_any(),
        column(columns::TRACE_ID).if_any(),
        column(columns::SAMPLE_LAST_ID).if_any(),
    ],
    writes: &[column(columns::NODE_CALL).if_any(), column(columns::NODE_SAMPLE).if_any()],
    fixed: 8 << 20,
    passes: "ids of nodes once",
    run,
    ..Stage::NEW
};

/// No stack, no interval.
const NONE: u32 = u32::MAX;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let calls = Calls::read(scratch, context)?;
    let samples = samples(scratch, context)?;
    if calls.rows.is_empty() && samples.is_empty() {
        return Ok(Stats::default());
    }
    let mut ids = ColumnReader::open(scratch, columns::NODE_ID)?;
    let mut traced = scratch.has(columns::NODE_TRACE).then(|| ColumnReader::open(scratch, columns::NODE_TRACE));
    let mut traced = traced.take().transpose()?;
    let (mut of_node, mut interval) = create_all(scratch, (columns::NODE_CALL, columns::NODE_SAMPLE))?;
    context.progress.begin(STAGE.name, ids.remaining());
    while ids.remaining() > 0 {
        let trace = traced.as_mut().map_or(Ok(0), ColumnReader::next)?;
        of_node.push(calls.find(trace))?;
        interval.push(sample(&samples, ids.next()?))?;
        context.step_every(1 << 16, ids.remaining())?;
    }
    of_node.finish()?;
    let rows = interval.finish()?;
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// Rows of the trace tree by id.
struct Calls {
    /// Id and row, sorted by id.
    rows: BudgetVec<(u32, u32)>,
}

impl Calls {
    fn read(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        const WHO: &str = "time line: trace tree";
        if !scratch.has(columns::TRACE_ID) {
            return Ok(Self { rows: context.budget.growing(WHO) });
        }
        let mut ids = ColumnReader::open(scratch, columns::TRACE_ID)?;
        let mut rows = context.budget.with_room(WHO, ids.remaining() as usize)?;
        for row in 0..ids.remaining() as u32 {
            rows.push((ids.next()?, row))?;
        }
        rows.sort_unstable();
        Ok(Self { rows })
    }

    /// Returns the row with an id; id 0 means no stack.
    fn find(&self, id: u32) -> u32 {
        if id == 0 {
            return NONE;
        }
        let end = self.rows.partition_point(|&(other, _)| other <= id);
        self.rows[..end].last().filter(|&&(found, _)| found == id).map_or(NONE, |&(_, row)| row)
    }
}

/// Returns the last assigned id of each sample. Ids never fall; in a damaged file the running maximum counts.
fn samples(scratch: &Scratch, context: &Context<'_>) -> Result<BudgetVec<u64>, StageError> {
    let mut samples = context.budget.growing("time line: samples");
    if scratch.has(columns::SAMPLE_LAST_ID) {
        let mut ids = ColumnReader::open(scratch, columns::SAMPLE_LAST_ID)?;
        let mut largest = 0;
        while ids.remaining() > 0 {
            largest = largest.max(ids.next()?);
            samples.push(largest)?;
        }
    }
    Ok(samples)
}

/// Returns the sample in whose interval an id was assigned.
fn sample(samples: &[u64], id: u64) -> u32 {
    let at = samples.partition_point(|&last| last < id);
    if id.is_multiple_of(2) || at == samples.len() { NONE } else { at as u32 }
}

#[cfg(test)]
mod tests {
    use super::{Calls, NONE, sample, samples};
    use heaplake_kit::ColumnWriter;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, Context, Scratch};
    use heaplake_schemas::scratch as columns;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn intervals_end_with_their_sample() {
        let samples = [7, 7, 11, 30];
        for (id, expected) in [(1, 0), (7, 0), (9, 2), (11, 2), (13, 3), (29, 3), (31, NONE), (8, NONE), (0, NONE)] {
            assert_eq!(sample(&samples, id), expected, "{id}");
        }
        assert_eq!(sample(&[], 1), NONE);
    }

    /// Returns the last row with the id; later rows replace earlier ones.
    fn row_of(rows: &[u32], id: u32) -> u32 {
        let rows = rows.iter().zip(0..).filter(|&(&other, _)| id != 0 && other == id);
        rows.last().map_or(NONE, |(_, row)| row)
    }

    /// Returns the first sample with an id of at least this one in itself or before.
    fn interval_of(lasts: &[u64], id: u64) -> u32 {
        let mut reached = (0..lasts.len()).filter(|&at| lasts[..=at].iter().any(|&last| last >= id));
        if id.is_multiple_of(2) { NONE } else { reached.next().map_or(NONE, |at| at as u32) }
    }

    proptest! {
        /// Compares with a linear search, for unordered and repeated ids and for samples that rise or fall.
        #[test]
        fn nodes_are_where_looking_through_all_puts_them(
            rows in prop::option::of(prop::collection::vec(0_u32..40, 0..60)),
            lasts in prop::option::of(prop::collection::vec(0_u64..80, 0..30)),
            nodes in prop::collection::vec((0_u32..45, 0_u64..90), 0..80),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
            let cancel = AtomicBool::new(false);
            let context = Context { budget: Budget::new(1 << 20), threads: 1, progress: &Silent, cancel: &cancel };
            if let Some(rows) = &rows {
                let mut writer = ColumnWriter::create(&scratch, columns::TRACE_ID).unwrap();
                writer.extend(rows).unwrap();
                writer.finish().unwrap();
            }
            if let Some(lasts) = &lasts {
                let mut writer = ColumnWriter::create(&scratch, columns::SAMPLE_LAST_ID).unwrap();
                writer.extend(lasts).unwrap();
                writer.finish().unwrap();
            }
            let (calls, found) = (Calls::read(&scratch, &context).unwrap(), samples(&scratch, &context).unwrap());
            let (rows, lasts) = (rows.unwrap_or_default(), lasts.unwrap_or_default());
            for (trace, id) in nodes {
                prop_assert_eq!(calls.find(trace), row_of(&rows, trace), "trace node {}", trace);
                prop_assert_eq!(sample(&found, id), interval_of(&lasts, id), "node {}", id);
            }
        }
    }
}
