//! Stage `retainer counts`: in-degrees of the nodes.
//!
//! * Computes: the in-degree of every node, over all edges, for the table of nodes.
//! * Resident memory: 4 bytes per node, paged if they do not fit.
//! * Passes over disk: one over the targets of edges.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or the disk is full.
//! * Determinism: one thread. Only the table waits for it, so it runs beside the stages of the graph.
//! * Reference: Chrome DevTools, the retainers that its panel lists for an object.

use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::filled;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ArrayPlan, ColumnReader, Context, Job, Stage, StageError, Stats, WriteAt, on_resident};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch as columns;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "retainer counts",
    when: |setting| setting.has(TableName::Nodes),
    reads: &[column(columns::NODE_EDGE_COUNT), column(columns::EDGE_TO)],
    writes: &[column(columns::NODE_RETAINER_COUNT)],
    arrays: &[&[per_node::<u32>()]],
    fixed: 1 << 20,
    passes: "targets of edges once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    // Not from the metadata, which later stages change: this stage runs beside them.
    let nodes = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?.remaining();
    let targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
    context.progress.begin(STAGE.name, targets.remaining());
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut counts = plan.one(filled(nodes as usize, 0u32))?;
    on_resident!(counts => count(targets, counts, context))?;
    counts.write_to(scratch, columns::NODE_RETAINER_COUNT)?;
    Ok(Stats { rows: nodes, spilled_bytes: plan.spilled_bytes() })
}

fn count(
    mut targets: ColumnReader<NodeId>,
    mut counts: impl WriteAt<u32>,
    context: &Context<'_>,
) -> Result<(), StageError> {
    while targets.remaining() > 0 {
        let block = targets.next_slice(BLOCK)?;
        for to in block {
            counts.change(to.index(), |count| *count += 1)?;
        }
        context.step(block.len() as u64)?;
    }
    Ok(())
}
