//! Stage `retained`: dominators and retained sizes of all nodes.
//!
//! * Computes: the immediate dominator of every node, and for every node the sums of shallow and native sizes over its
//!   subtree of the dominator tree. The root is the dominator of nodes without a preorder number and includes their
//!   sizes; in inputs that keep garbage, each such node counts for itself only.
//! * Resident memory: 12 bytes per node (dominators 4, sums 8), paged where the budget does not allow it.
//! * Passes over disk: two over the preorder, once forwards and once backwards for each kind of size.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum exceeds 64 bits.
//! * Determinism: sums of integers; one thread.
//! * Reference: Chrome DevTools and Eclipse MAT, retained sizes.

use heaplake_kit::access::{column, document, per_node};
use heaplake_kit::array_plan::{filled, loaded, lookup};
use heaplake_kit::{
    ArrayPlan, ColumnReader, Job, ReadAt, ReverseReader, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "retained",
    reads: &[
        document(documents::METADATA),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_NATIVE).if_any(),
    ],
    writes: &[
        column(columns::NODE_DOMINATOR),
        column(columns::NODE_RETAINED),
        column(columns::NODE_RETAINED_NATIVE).if_any(),
    ],
    arrays: &[&[per_node::<NodeId>(), per_node::<NodeId>()], &[per_node::<u64>(), per_node::<NodeId>()]],
    fixed: 4 << 20,
    passes: "preorder forwards and backwards",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Metadata { root, has_native, keeps_garbage, .. } = *job.metadata()?;
    let nodes = ColumnReader::open(job.scratch, columns::NODE_SHALLOW)?.remaining();
    job.context.progress.begin(STAGE.name, 2 * nodes);
    // Nodes without a preorder number belong to the root, unless they are garbage.
    let beyond = (!keeps_garbage).then_some(root);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    dominators(root, nodes, &mut plan, job)?;
    sum(beyond, columns::NODE_SHALLOW, columns::NODE_RETAINED, &mut plan, job)?;
    if has_native {
        sum(beyond, columns::NODE_NATIVE, columns::NODE_RETAINED_NATIVE, &mut plan, job)?;
    }
    job.context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: plan.spilled_bytes() })
}

/// Translates the dominators from preorder positions to nodes.
fn dominators(root: NodeId, nodes: u64, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<(), StageError> {
    let (mut dominator, mut node_at) = plan.make((filled(nodes as usize, root), lookup(columns::PREORDER_NODE)))?;
    let mut order = ColumnReader::open(job.scratch, columns::PREORDER_NODE)?;
    let mut positions = ColumnReader::open(job.scratch, columns::PREORDER_DOMINATOR)?;
    while order.remaining() > 0 {
        dominator.set(order.next()?.index(), node_at.get(positions.next()?.index())?)?;
        job.context.step_every(1 << 16, order.remaining())?;
    }
    dominator.write_to(job.scratch, columns::NODE_DOMINATOR)
}

/// Adds every node's size to all its dominators, from a column of sizes to a column of sums. Sizes of nodes without a
/// preorder number are added to `beyond`, if any.
fn sum(
    beyond: Option<NodeId>,
    sizes: Column<u64>,
    sums: Column<u64>,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let (mut sum, mut dominator) = plan.make((loaded(sizes), lookup(columns::NODE_DOMINATOR)))?;
    on_resident!(sum, dominator => add_all(beyond, sum, dominator, job))?;
    sum.write_to(job.scratch, sums)
}

fn add_all(
    beyond: Option<NodeId>,
    mut sum: impl WriteAt<u64>,
    mut dominator: impl ReadAt<NodeId>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    // Later positions first: a node's sum is complete before it is added to its dominator.
    let mut order = ReverseReader::open(job.scratch, columns::PREORDER_NODE)?;
    let reached = order.remaining();
    while order.remaining() > 1 {
        let node = order.next()?.index();
        add(&mut sum, node, dominator.get(node)?)?;
        job.context.step_every(1 << 16, order.remaining())?;
    }
    if let Some(root) = beyond.filter(|_| reached < sum.count() as u64) {
        let mut numbers = ColumnReader::open(job.scratch, columns::NODE_PREORDER)?;
        for node in 0..sum.count() {
            if numbers.next()?.is_none() {
                add(&mut sum, node, root)?;
            }
        }
    }
    Ok(())
}

#[inline]
fn add(sum: &mut impl WriteAt<u64>, node: usize, dominator: NodeId) -> Result<(), StageError> {
    let size = sum.get(node)?;
    let total = sum.change(dominator.index(), |total| {
        let added = total.checked_add(size);
        *total = added.unwrap_or(*total);
        added
    })?;
    if total.is_some() { Ok(()) } else { Err(StageError::Overflow("a retained size")) }
}
