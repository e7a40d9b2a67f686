//! Which nodes a page owns: everything its windows and document trees reach. What a debugger holds of them does not
//! count for dominators. Used by [`super::holds`].
//!
//! Resident memory: one bit per node for the answer; while it spreads, 4 bytes per node and 5 per edge where the budget
//! allows, paged where not, and 1 MiB of stack.

use super::header::Header;
use heaplake_kit::array::column_bytes;
use heaplake_kit::{ArrayPlan, Bitset, ColumnMap, ColumnReader, Context, Offsets, ReadAt, Scratch, Stack, StageError};
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
    let node_kind = ColumnMap::open(scratch, columns::NODE_KIND, None)?;
    let name = ColumnMap::open(scratch, columns::NODE_NAME, None)?;
    let synthetic = header.node_type("synthetic");
    let (shortcut, element, weak) =
        (header.edge_type("shortcut"), header.edge_type("element"), header.edge_type("weak"));
    let mut open: Stack<NodeId> = Stack::new(&context.budget, scratch, "pages.open")?;
    let mut owned: Option<Bitset> = None;
    let mut edges = RootEdges::open(header, scratch)?;
    while let Some((edge_kind, target)) = edges.next()? {
        let is_tree = || Some(node_kind[target.index()]) == synthetic && name[target.index()] == document_trees;
        if Some(edge_kind) != shortcut && !(Some(edge_kind) == element && is_tree()) {
            continue;
        }
        let owned = match &mut owned {
            Some(owned) => owned,
            None => owned.insert(Bitset::new(&context.budget, "page ownership", node_kind.len())?),
        };
        owned.insert(target.index());
    }
    let Some(mut owned) = owned else { return Ok(None) };

    // Most edges lead forwards: one pass in order brings ownership nearly everywhere.
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
    for node in 0..node_kind.len() {
        let count = counts.next()?;
        if !owned.contains(node) {
            kinds.skip(u64::from(count))?;
            targets.skip(u64::from(count))?;
            continue;
        }
        for _ in 0..count {
            let (edge_kind, target) = (kinds.next()?, targets.next()?);
            // What lies behind has had its turn.
            if Some(edge_kind) != weak && owned.insert(target.index()) && target.index() < node {
                open.push(target)?;
            }
        }
        if node.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }

    let (kind_bytes, to_bytes) = (column_bytes(scratch, columns::EDGE_KIND), column_bytes(scratch, columns::EDGE_TO));
    let sizes = [Offsets::bytes(header.node_count), kind_bytes, to_bytes];
    let mut room = ArrayPlan::plan(&context.budget, scratch, "page ownership", &sizes);
    let mut offsets = Offsets::load(&mut room, &context.budget, scratch, columns::NODE_EDGE_COUNT)?;
    let mut kind = room.lookup(columns::EDGE_KIND)?;
    let mut to = room.lookup(columns::EDGE_TO)?;
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
    Ok(Some(owned))
}

/// Kind and target of each of the root's edges, in order.
pub(super) struct RootEdges {
    kinds: ColumnReader<u8>,
    targets: ColumnReader<NodeId>,
    left: u32,
}

impl RootEdges {
    pub(super) fn open(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
        let mut first = 0;
        for _ in 0..header.root {
            first += u64::from(counts.next()?);
        }
        let mut kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
        let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
        kinds.skip(first)?;
        targets.skip(first)?;
        Ok(Self { kinds, targets, left: counts.next()? })
    }

    /// How many are still to come.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.left)
    }

    pub(super) fn next(&mut self) -> Result<Option<(u8, NodeId)>, StageError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some((self.kinds.next()?, self.targets.next()?)))
    }
}
