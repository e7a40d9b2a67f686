//! Stage `trivial duplicates`: duplicates found without comparing references.
//!
//! * Computes: the groups of nodes with equal values that stay undecided, each named by its value: those with slots.
//!   Nodes without slots are duplicates.
//! * Resident memory: a bit per node.
//! * Passes over disk: one over the values and the numbers of slots.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: order of the input.
//! * Reference: trivial duplicates, by definition, have equal values and no references.

use heaplake_kit::access::{bits_per_node, column};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Job, Scratch, Stage, StageError, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, limits};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "trivial duplicates",
    version: 4,
    when: |setting| setting.duplicates() && !setting.looks_into_references(),
    reads: &[column(columns::EQUAL_VALUE), column(columns::EQUAL_DEGREE)],
    writes: &[column(columns::EQUAL_UNDECIDED), column(columns::EQUAL_UNDECIDED_REASON)],
    least: &[bits_per_node(1)],
    fixed: 8 << 20,
    passes: "values once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut values = ColumnReader::open(scratch, columns::EQUAL_VALUE)?;
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let nodes = values.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut undecided = Bitset::new(&context.budget, "undecided groups", nodes as usize)?;
    for start in (0..nodes as usize).step_by(BLOCK) {
        let count = BLOCK.min(nodes as usize - start);
        context.step(count as u64)?;
        let block = values.block(count)?.iter().zip(degrees.block(count)?);
        for (node, (value, &degree)) in (start..).zip(block) {
            if degree > 0 && value.index() != node {
                undecided.insert(value.index());
            }
        }
    }
    write(nodes as u32, &undecided, scratch)?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: 0 })
}

/// Writes the undecided groups with their reason.
fn write(nodes: u32, undecided: &Bitset, scratch: &Scratch) -> Result<(), StageError> {
    let mut groups = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    for node in (0..nodes).map(NodeId).filter(|node| undecided.contains(node.index())) {
        groups.push(node)?;
        reasons.push(limits::MODE)?;
    }
    groups.finish()?;
    reasons.finish().map(drop)
}
