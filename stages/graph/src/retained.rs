//! Stage `retained`: what would go if a node went.
//!
//! * Computes: the immediate dominator of every node, and the sums of shallow and native sizes over every subtree of
//!   the dominator tree. Nodes that the search did not reach hang under the root; they count for it, unless the input
//!   keeps garbage, which counts for nothing but itself.
//! * Reads: `preorder.{node,dominator}`, `node.shallow` and, where there is one, `node.native`.
//! * Writes: `node.{dominator,retained}` and, where there are native sizes, `node.retained_native`.
//! * Resident memory: 12 bytes per node (dominators 4, sums 8) where the budget allows, paged where not.
//! * Passes over disk: two over the preorder, once forwards and once backwards for each kind of size.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: sums of integers; one thread.
//! * Reference: Chrome DevTools and Eclipse MAT, retained sizes.

use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, Context, Lookup, ReadAt, ReverseReader, Scratch, StageError, StageInfo, Stats,
    WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, Facts, documents};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "retained",
    version: 1,
    bytes_per_node: 12,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 4 << 20,
    scratch_per_node: 12,
    scratch_per_edge: 0,
    passes: "preorder forwards and backwards",
};

/// Sums the sizes up.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let Facts { root, has_native, keeps_garbage, .. } = scratch.read_document(documents::FACTS)?;
    let nodes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?.remaining();
    context.progress.begin(STAGE.name, 2 * nodes);
    // What no search reaches belongs to the root, unless it is garbage.
    let beyond = (!keeps_garbage).then_some(root);
    let spilled_bytes = dominators(root, nodes, scratch, context)?
        + sum(beyond, columns::NODE_SHALLOW, columns::NODE_RETAINED, scratch, context)?
        + if has_native {
            sum(beyond, columns::NODE_NATIVE, columns::NODE_RETAINED_NATIVE, scratch, context)?
        } else {
            0
        };
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Brings the dominators from preorder space into node space.
fn dominators(root: NodeId, nodes: u64, scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4, nodes * 4]);
    let mut dominator = room.array(nodes as usize, root)?;
    let mut node_at = room.lookup(columns::PREORDER_NODE)?;
    let mut order = ColumnReader::open(scratch, columns::PREORDER_NODE)?;
    let mut positions = ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    while order.remaining() > 0 {
        dominator.set(order.next()?.index(), node_at.get(positions.next()?.index())?)?;
        if order.remaining().is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    dominator.write_to(scratch, columns::NODE_DOMINATOR)?;
    Ok(room.spilled_bytes())
}

/// Adds every node's size to all its dominators. Those out of reach count for `beyond`, if there is such a node.
fn sum(
    beyond: Option<NodeId>,
    sizes: Column<u64>,
    sums: Column<u64>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let nodes = ColumnReader::open(scratch, sizes)?.remaining();
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 8, nodes * 4]);
    let mut sum = room.load(sizes)?;
    let mut dominator = room.lookup(columns::NODE_DOMINATOR)?;
    match (&mut sum, &mut dominator) {
        (Array::Resident(sum), Lookup::Mapped(dominator)) => add_all(beyond, sum, dominator, scratch, context)?,
        (sum, dominator) => add_all(beyond, sum, dominator, scratch, context)?,
    }
    sum.write_to(scratch, sums)?;
    Ok(room.spilled_bytes())
}

fn add_all(
    beyond: Option<NodeId>,
    sum: &mut impl WriteAt<u64>,
    dominator: &mut impl ReadAt<NodeId>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    // Later positions first: when a node is added to its dominator, its own sum is complete.
    let mut order = ReverseReader::open(scratch, columns::PREORDER_NODE)?;
    let reached = order.remaining();
    while order.remaining() > 1 {
        let node = order.next()?.index();
        add(sum, node, dominator.get(node)?)?;
        if order.remaining().is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
    }
    if let Some(root) = beyond.filter(|_| reached < sum.count() as u64) {
        let mut numbers = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
        for node in 0..sum.count() {
            if numbers.next()?.is_none() {
                add(sum, node, root)?;
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
    total.map(drop).ok_or(StageError::Overflow("a retained size"))
}
