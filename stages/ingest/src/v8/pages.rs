//! Which nodes a page owns: everything its windows and document trees reach. References to them from outside, such as
//! a debugger's, do not count for dominators. Used by [`super::essential_edges`].
//!
//! Resident memory: one bit per node for the answer; while it spreads, one bit per node more, and where it does not
//! spread in a few passes, 1.2 bytes per node and 5 per edge where the budget allows, paged where not, and 1 MiB of stack.

use super::header::Header;
use super::root_edges::RootEdges;
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnPoints, ColumnReader, Context, OffsetBlock, Offsets, ReadAt, Scratch, Stack, StageError,
    on_resident,
};
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
    let Some(mut owned) = seeds(header, document_trees, scratch, context)? else { return Ok(None) };
    let weak = header.edge_type("weak");
    let nodes = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?.remaining() as usize;
    let mut followed = Bitset::new(&context.budget, "page ownership: nodes that were followed", nodes)?;
    let mut open = u64::MAX;
    for _ in 0..MOST_PASSES {
        // A pass is worth it while it takes much from the search.
        let before = std::mem::replace(&mut open, spread_forwards(weak, &mut owned, &mut followed, scratch, context)?);
        if open == 0 {
            return Ok(Some(owned));
        }
        if open > before / 2 {
            break;
        }
    }
    let mut open: Stack<NodeId> = Stack::new(&context.budget, scratch, "pages.open")?;
    for node in (0..nodes).filter(|&node| owned.contains(node) && !followed.contains(node)) {
        open.push(NodeId(node as u32))?;
    }
    drop(followed);
    let mut plan = ArrayPlan::new(&context.budget, scratch, "page ownership");
    let (mut offsets, mut kind, mut to) = plan.make((
        offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO),
        lookup(columns::EDGE_KIND),
        lookup(columns::EDGE_TO),
    ))?;
    on_resident!(offsets, kind, to => spread(weak, &mut owned, &mut open, (offsets, kind, to), context))?;
    Ok(Some(owned))
}

/// The nodes from which ownership spreads; nothing where there is none.
fn seeds(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Option<Bitset>, StageError> {
    // Only targets of the root are looked at.
    let node_kind = ColumnPoints::open(scratch, columns::NODE_KIND)?;
    let name = ColumnPoints::open(scratch, columns::NODE_NAME)?;
    let synthetic = header.node_type("synthetic");
    let (shortcut, element) = (header.edge_type("shortcut"), header.edge_type("element"));
    let mut owned: Option<Bitset> = None;
    let mut edges = RootEdges::open(header, scratch)?;
    while let Some((edge_kind, target)) = edges.next()? {
        let is_tree = || Some(node_kind.at(target.index())) == synthetic && name.at(target.index()) == document_trees;
        if Some(edge_kind) != shortcut && !(Some(edge_kind) == element && is_tree()) {
            continue;
        }
        let owned = match &mut owned {
            Some(owned) => owned,
            None => owned.insert(Bitset::new(&context.budget, "page ownership", node_kind.len())?),
        };
        owned.insert(target.index());
    }
    Ok(owned)
}

/// Passes in order, at most.
const MOST_PASSES: u32 = 6;

/// Spreads ownership in one pass in order, which brings it far, because most edges lead forwards. Returns how many nodes
/// the pass had gone by before they were owned.
fn spread_forwards(
    weak: Option<u8>,
    owned: &mut Bitset,
    followed: &mut Bitset,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut behind = 0;
    // Edges of nodes that are not followed.
    let mut between = 0;
    for node in 0..counts.remaining() as usize {
        let count = counts.next()?;
        if !owned.contains(node) || !followed.insert(node) {
            between += u64::from(count);
            continue;
        }
        kinds.skip(between)?;
        targets.skip(between)?;
        between = 0;
        let mut left = count as usize;
        while left > 0 {
            let now = targets.next_slice(left)?;
            left -= now.len();
            for target in now {
                if Some(kinds.next()?) != weak && owned.insert(target.index()) && target.index() < node {
                    behind += 1;
                }
            }
        }
        if node.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(behind)
}

/// Spreads ownership from the nodes in `open`.
fn spread<O>(
    weak: Option<u8>,
    owned: &mut Bitset,
    open: &mut Stack<NodeId>,
    (mut offsets, mut kind, mut to): (Offsets<O>, impl ReadAt<u8>, impl ReadAt<NodeId>),
    context: &Context<'_>,
) -> Result<(), StageError>
where
    O: ReadAt<OffsetBlock>,
{
    let mut steps = 0u64;
    while let Some(node) = open.pop()? {
        steps += 1;
        if steps.is_multiple_of(1 << 16) {
            context.check()?;
        }
        for edge in offsets.range(node.index())? {
            if Some(kind.get(edge)?) == weak {
                continue;
            }
            let target = to.get(edge)?;
            if owned.insert(target.index()) {
                open.push(target)?;
            }
        }
    }
    Ok(())
}
