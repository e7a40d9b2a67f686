//! Which nodes a page owns: everything its windows and document trees reach. What a debugger holds of them does not
//! count for dominators. Used by [`super::holds`].
//!
//! Resident memory: one bit per node for the answer, at most 4 bytes per node while it spreads.

use super::header::Header;
use heaplake_kit::{Bitset, BudgetVec, ColumnMap, Context, Offsets, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;

/// The nodes that pages own; nothing where the snapshot has no page.
///
/// Seeds are the targets of the root's `shortcut` edges, and of its `element` edges to `(Document DOM trees)`; from
/// there all edges but weak ones count.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn owned(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Option<Bitset>, StageError> {
    let offsets = Offsets::load(&context.budget, "page ownership: offsets", scratch, columns::NODE_EDGE_COUNT)?;
    let kind = ColumnMap::open(scratch, columns::EDGE_KIND, None)?;
    let to = ColumnMap::open(scratch, columns::EDGE_TO, None)?;
    let node_kind = ColumnMap::open(scratch, columns::NODE_KIND, None)?;
    let name = ColumnMap::open(scratch, columns::NODE_NAME, None)?;
    let synthetic = header.node_type("synthetic");
    let (shortcut, element, weak) =
        (header.edge_type("shortcut"), header.edge_type("element"), header.edge_type("weak"));
    let is_seed = |edge: usize| {
        let target = to[edge].index();
        let is_tree = || Some(node_kind[target]) == synthetic && name[target] == document_trees;
        Some(kind[edge]) == shortcut || Some(kind[edge]) == element && is_tree()
    };
    let mut open: BudgetVec<NodeId> = context.budget.growing("page ownership: open nodes");
    for edge in offsets.range(header.root as usize).filter(|&edge| is_seed(edge)) {
        open.push(to[edge])?;
    }
    if open.is_empty() {
        return Ok(None);
    }
    let mut owned = Bitset::new(&context.budget, "page ownership", offsets.groups())?;
    for seed in open.iter() {
        owned.insert(seed.index());
    }
    let mut steps = 0u64;
    while let Some(node) = open.pop() {
        steps += 1;
        if steps.is_multiple_of(1 << 16) {
            context.check()?;
        }
        for edge in offsets.range(node.index()) {
            if Some(kind[edge]) != weak && owned.insert(to[edge].index()) {
                open.push(to[edge])?;
            }
        }
    }
    Ok(Some(owned))
}
