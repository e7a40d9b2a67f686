//! Stage `largest`: the objects that retain most, and what holds them.
//!
//! * Computes: the [`COUNT`] nodes of largest retained size, the runtime's own synthetic nodes left out, each with its
//!   dominators from the root down.
//! * Reads: `node.{retained,kind}` in order; for the few winners and their dominators other columns at random.
//! * Writes: the document of largest objects.
//! * Resident memory: none that grows with the input.
//! * Passes over disk: one over the retained sizes.
//! * Worst case: linear; a path through a long list is walked node by node.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: equals are ordered by node.
//! * Reference: none needed.

use crate::nodes::Nodes;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::run::LargeObject;
use heaplake_schemas::scratch::{self as columns, Facts, documents};
use std::cmp::Reverse;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "largest",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 4 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "retained sizes once",
};

/// Objects that are kept.
pub const COUNT: usize = 10;

/// Finds the largest objects.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts = &scratch.read_document::<Facts>(documents::FACTS)?;
    context.progress.begin(STAGE.name, facts.node_count);
    let largest = winners(facts, scratch, context)?;
    let nodes = Nodes::open(scratch)?;
    let objects: Vec<LargeObject> = largest.into_iter().map(|node| nodes.describe(node, facts.root)).collect();
    scratch.write_document(documents::LARGEST, &objects)?;
    context.progress.end();
    Ok(Stats { rows: objects.len() as u64, spilled_bytes: 0 })
}

fn winners(facts: &Facts, scratch: &Scratch, context: &Context<'_>) -> Result<Vec<NodeId>, StageError> {
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut best: Vec<(Reverse<u64>, NodeId)> = Vec::with_capacity(COUNT + 1);
    for node in 0..facts.node_count as u32 {
        if node.is_multiple_of(1 << 20) {
            context.step(1 << 20)?;
        }
        let entry = (Reverse(retained.next()?), NodeId(node));
        let kind = kinds.next()?;
        if best.len() == COUNT && entry >= best[COUNT - 1] {
            continue;
        }
        if entry.1 != facts.root && !facts.synthetic_kinds.contains(&kind) {
            let at = best.partition_point(|other| *other < entry);
            best.insert(at, entry);
            best.truncate(COUNT);
        }
    }
    Ok(best.into_iter().map(|(_, node)| node).collect())
}
