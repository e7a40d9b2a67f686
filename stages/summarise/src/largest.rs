//! Stage `largest`: the objects that retain most, and what holds them.
//!
//! * Computes: the [`COUNT`] nodes of largest retained size, the runtime's own synthetic nodes left out, each with its
//!   dominators from the root down.
//! * Resident memory: 4 bytes per node (dominators) paged where the budget does not allow it.
//! * Passes over disk: one over the retained sizes.
//! * Worst case: linear; a path through a long list is walked node by node.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: equals are ordered by node.
//! * Reference: none needed.

use crate::nodes::Nodes;
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, ColumnReader, Context, Job, ReadAt, Scratch, Stage, StageError, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::run::{LargeObject, PATH_HEAD, PATH_TAIL};
use heaplake_schemas::scratch::{self as columns, Facts, STRINGS, documents};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "largest",
    reads: &[
        document(documents::FACTS),
        texts(STRINGS),
        column(columns::CLASS_NAME),
        column(columns::NODE_ID),
        column(columns::NODE_KIND),
        column(columns::NODE_CLASS),
        column(columns::NODE_NAME),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_RETAINED),
        column(columns::NODE_DOMINATOR),
    ],
    writes: &[document(documents::LARGEST)],
    arrays: &[&[per_node::<NodeId>()]],
    fixed: 4 << 20,
    passes: "retained sizes once",
    run,
    ..Stage::NEW
};

/// Objects that are kept.
pub const COUNT: usize = 10;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let facts = &job.facts()?;
    context.progress.begin(STAGE.name, facts.node_count);
    let largest = winners(facts, scratch, context)?;
    let nodes = Nodes::open(scratch)?;
    let mut dominator = ArrayPlan::of(job, STAGE.name).one(lookup(columns::NODE_DOMINATOR))?;
    let objects = largest.into_iter().map(|node| describe(node, facts.root, &nodes, &mut dominator));
    let objects = objects.collect::<Result<Vec<LargeObject>, StageError>>()?;
    scratch.write_document(documents::LARGEST, &objects)?;
    context.progress.end();
    Ok(Stats { rows: objects.len() as u64, spilled_bytes: 0 })
}

/// A node with the dominators above it.
fn describe(
    node: NodeId,
    root: NodeId,
    nodes: &Nodes,
    dominator: &mut impl ReadAt<NodeId>,
) -> Result<LargeObject, StageError> {
    // Bottom up: the nearest dominators, and a window that ends up holding those next to the root.
    let mut near: Vec<NodeId> = Vec::new();
    let mut far: VecDeque<NodeId> = VecDeque::new();
    let mut left_out = 0;
    let mut at = node;
    while at != root {
        at = dominator.get(at.index())?;
        if near.len() < PATH_TAIL {
            near.push(at);
        } else {
            far.push_back(at);
            if far.len() > PATH_HEAD {
                far.pop_front();
                left_out += 1;
            }
        }
    }
    let path = far.into_iter().rev().chain(near.into_iter().rev()).map(|node| nodes.step(node)).collect();
    Ok(LargeObject { object: nodes.step(node), path, path_left_out: left_out })
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
