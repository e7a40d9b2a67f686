//! Stage `retained`: what would go if a node went.
//!
//! * Computes: the immediate dominator of every node, and the sums of shallow and native sizes over every subtree of
//!   the dominator tree. Nodes that the search did not reach hang under the root and count for it.
//! * Reads: `preorder.{node,dominator}`, `node.shallow` and, where there is one, `node.native`.
//! * Writes: `node.{dominator,retained}` and, where there are native sizes, `node.retained_native`.
//! * Resident memory: 20 bytes per node (dominators 4, nodes by preorder 4 and their dominators' positions 4, sums 8).
//! * Passes over disk: one over each column; one more over the tree for native sizes.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: sums of integers; one thread.
//! * Reference: Chrome DevTools and Eclipse MAT, retained sizes.

use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "retained", version: 1, bytes_per_node: 20, bytes_per_edge: 0, bytes_fixed: 2 << 20 };

/// Sums the sizes up.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(root: NodeId, has_native: bool, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let nodes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?.remaining() as usize;
    context.progress.begin(STAGE.name, nodes as u64);
    let tree = Tree::load(root, nodes, scratch, context)?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_DOMINATOR)?;
    column.extend(&tree.dominator)?;
    column.finish()?;
    tree.sum(columns::NODE_SHALLOW, columns::NODE_RETAINED, scratch, context)?;
    if has_native {
        tree.sum(columns::NODE_NATIVE, columns::NODE_RETAINED_NATIVE, scratch, context)?;
    }
    context.progress.end();
    Ok(Stats { rows: nodes as u64, spilled_bytes: 0 })
}

/// The dominator tree in node space.
struct Tree {
    root: NodeId,
    /// Nodes in preorder.
    order: ColumnMap<NodeId>,
    /// Immediate dominator of every node.
    dominator: BudgetVec<NodeId>,
}

impl Tree {
    fn load(root: NodeId, nodes: usize, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining();
        let reservation = context.budget.reserve("retained sizes: preorder", reached * 4)?;
        let order = ColumnMap::open(scratch, columns::PREORDER_NODE, Some(reservation))?;
        let mut dominator = context.budget.filled("retained sizes: dominators", nodes, root)?;
        let mut positions = ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?;
        for &node in order.iter() {
            dominator[node.index()] = order[positions.next()?.index()];
        }
        Ok(Self { root, order, dominator })
    }

    /// Adds every node's size to all its dominators.
    fn sum(
        &self,
        sizes: Column<u64>,
        sums: Column<u64>,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        let mut sum = context.budget.zeroed::<u64>("retained sizes", self.dominator.len())?;
        ColumnReader::open(scratch, sizes)?.read_into(&mut sum)?;
        let mut add = |node: NodeId, dominator: NodeId| {
            let size = sum[node.index()];
            let total = &mut sum[dominator.index()];
            *total = total.checked_add(size).ok_or(StageError::Overflow("a retained size"))?;
            Ok::<(), StageError>(())
        };
        // Later positions first: when a node is added to its dominator, its own sum is complete.
        for &node in self.order.iter().skip(1).rev() {
            add(node, self.dominator[node.index()])?;
        }
        if self.order.len() < self.dominator.len() {
            let numbers = ColumnMap::open(scratch, columns::NODE_PREORDER, None)?;
            for (node, _) in numbers.iter().enumerate().filter(|(_, number)| number.is_none()) {
                add(NodeId(node as u32), self.root)?;
            }
        }
        context.check()?;
        let mut column = ColumnWriter::create(scratch, sums)?;
        column.extend(&sum)?;
        column.finish().map(drop)
    }
}
