//! Page ownership: the nodes that a page's windows and document trees reach. References to them from outside, such as a
//! debugger's, do not count for dominators. Used by [`super::essential_edges`].
//!
//! Resident memory: one bit per node for the result; during propagation one bit per node more, half a MiB per part of
//! the nodes in flight, and if a few passes do not suffice, 1.2 bytes per node and 5 per edge, paged if they do not
//! fit, and 1 MiB of stack.

use super::header::Header;
use super::kinds::Kinds;
use super::root_edges::RootEdges;
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnPoints, ColumnReader, Context, OffsetBlock, Offsets, OrderedPool, ReadAt, Scratch,
    SharedBitset, Stack, StageError, on_resident,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;

/// Returns the nodes that pages own; `None` if the snapshot has no page.
///
/// Seeds are the targets of the root's `shortcut` edges, and of its `element` edges to `(Document DOM trees)`; from
/// there all edges but weak ones count.
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
        // A pass pays while it removes much of the search.
        spread_forwards(weak, &mut owned, &mut followed, scratch, context)?;
        let before = std::mem::replace(&mut open, (owned.count() - followed.count()) as u64);
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

/// Returns the nodes from which ownership propagates; `None` if there are none.
fn seeds(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Option<Bitset>, StageError> {
    // Only targets of the root are read.
    let node_kind = ColumnPoints::open(scratch, columns::NODE_KIND)?;
    let name = ColumnPoints::open(scratch, columns::NODE_NAME)?;
    let Kinds { synthetic, shortcut, element, .. } = Kinds::of(header);
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

/// Limit of passes in order.
const MOST_PASSES: u32 = 6;

/// Limit of threads.
const MOST_THREADS: usize = 16;
/// Words of a part, 64 nodes each.
const WORDS: usize = 1 << 10;
/// Bytes of the buffers of a part, for columns in files.
const PART_BYTES: u64 = 512 << 10;

/// Consecutive nodes, and the start of their edges.
#[derive(Default)]
struct Part<'a> {
    node: usize,
    edge: u64,
    /// Set of the expanded nodes.
    followed: &'a mut [u64],
    failed: Option<StageError>,
}

/// Propagates ownership in one pass in order, which goes far, because most edges lead forwards. Threads take parts of
/// the nodes; the set after the last pass does not depend on the progress of each.
fn spread_forwards(
    weak: Option<u8>,
    owned: &mut Bitset,
    followed: &mut Bitset,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let pool = OrderedPool::plan(context, "page ownership: parts of the nodes", MOST_THREADS, PART_BYTES)?;
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let owned = owned.shared();
    let mut parts = followed.words_mut().chunks_mut(WORDS).zip((0..).step_by(64 * WORDS));
    let mut edge = 0;
    pool.run(
        context,
        |part: &mut Part<'_>| {
            let Some((followed, node)) = parts.next() else { return Ok(false) };
            *part = Part { node, edge, followed, failed: None };
            let mut left = counts.remaining().min(64 * WORDS as u64) as usize;
            while left > 0 {
                let counts = counts.next_slice(left)?;
                left -= counts.len();
                edge += counts.iter().map(|&count| u64::from(count)).sum::<u64>();
            }
            Ok(true)
        },
        || |part: &mut Part<'_>| part.failed = part.spread(weak, owned, scratch).err(),
        |part| part.failed.take().map_or(context.check(), Err),
    )
}

impl Part<'_> {
    fn spread(&mut self, weak: Option<u8>, owned: SharedBitset<'_>, scratch: &Scratch) -> Result<(), StageError> {
        let mut counts = ColumnReader::open_at(scratch, columns::NODE_EDGE_COUNT, self.node as u64)?;
        let mut kinds = ColumnReader::open_at(scratch, columns::EDGE_KIND, self.edge)?;
        let mut targets = ColumnReader::open_at(scratch, columns::EDGE_TO, self.edge)?;
        let nodes = counts.remaining().min(64 * self.followed.len() as u64) as usize;
        // Edges of skipped nodes.
        let mut between = 0;
        for at in 0..nodes {
            let count = counts.next()?;
            let (word, bit) = (&mut self.followed[at / 64], 1 << (at % 64));
            if *word & bit != 0 || !owned.contains(self.node + at) {
                between += u64::from(count);
                continue;
            }
            *word |= bit;
            kinds.skip(between)?;
            targets.skip(between)?;
            between = 0;
            let mut left = count as usize;
            while left > 0 {
                let now = targets.next_slice(left)?;
                left -= now.len();
                for target in now {
                    if Some(kinds.next()?) != weak {
                        owned.insert(target.index());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Propagates ownership from the nodes in `open`.
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
        context.check_every(1 << 16, steps)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, ColumnWriter};
    use heaplake_schemas::scratch::Column;
    use std::sync::atomic::AtomicBool;

    const WEAK: u8 = 3;
    const SEEDS: usize = 20;

    fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
        let mut writer = ColumnWriter::create(scratch, column).unwrap();
        values.into_iter().for_each(|value| writer.push(value).unwrap());
        writer.finish().unwrap();
    }

    #[test]
    fn passes_end_with_all_that_is_reached() {
        let nodes = 3 * 64 * WORDS + 100;
        let mut state = 11u64;
        let mut below = |most: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % most
        };
        // Many nodes without edges, and some with many.
        let mut edges = vec![Vec::new(); nodes];
        for edges in &mut edges {
            *edges = (0..below(5) * below(3)).map(|_| (below(4) as u8, below(nodes) as u32)).collect::<Vec<_>>();
        }
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        write(&scratch, columns::NODE_EDGE_COUNT, edges.iter().map(|edges| edges.len() as u32));
        write(&scratch, columns::EDGE_KIND, edges.iter().flatten().map(|edge| edge.0));
        write(&scratch, columns::EDGE_TO, edges.iter().flatten().map(|edge| NodeId(edge.1)));
        let (mut reached, mut open) = (vec![false; nodes], (0..SEEDS).collect::<Vec<_>>());
        reached[..SEEDS].fill(true);
        while let Some(node) = open.pop() {
            for &(_, to) in edges[node].iter().filter(|edge| edge.0 != WEAK) {
                if !std::mem::replace(&mut reached[to as usize], true) {
                    open.push(to as usize);
                }
            }
        }
        let cancel = AtomicBool::new(false);
        for threads in [1, 2, 5] {
            let context = Context { budget: Budget::new(64 << 20), threads, progress: &Silent, cancel: &cancel };
            let bitset = || Bitset::new(&context.budget, "test", nodes).unwrap();
            let (mut owned, mut followed) = (bitset(), bitset());
            (0..SEEDS).for_each(|seed| assert!(owned.insert(seed)));
            while owned.count() > followed.count() {
                spread_forwards(Some(WEAK), &mut owned, &mut followed, &scratch, &context).unwrap();
            }
            assert!((0..nodes).all(|node| owned.contains(node) == reached[node]), "{threads} threads");
            assert!(owned.count() > nodes / 10 && owned.count() < nodes);
        }
    }
}
