//! Stage `preorder`: depth-first numbers for the graph of essential edges.
//!
//! * Computes: a depth-first preorder from the root over essential edges in input order, and each node's parent in it.
//!   Orphans (nodes without an incoming essential edge) count as children of the root, after its own edges, in node
//!   order. Nodes reachable only from cycles without an incoming edge have no number.
//! * Resident memory: 1.2 bytes per node and 4 per essential edge, paged where the budget does not allow it; a bit per
//!   node; 1 MiB of stack. Then 4 bytes per node, for all nodes or for as many at a time as the budget allows.
//! * Passes over disk: each node's edges once, in order of discovery; long paths spill to disk. The preorder once for
//!   each part of the nodes.
//! * Worst case: linear time; one list through all nodes makes the stack as long as the list, mostly on disk.
//! * Fails when: the budget is too small.
//! * Determinism: the order is a function of the input; one thread.
//! * Reference: Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Job, OffsetBlock, Offsets, ReadAt, Stack, Stage,
    StageError, Stats, on_resident,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "preorder",
    reads: &[
        document(documents::METADATA),
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::ESSENTIAL_ORPHAN),
    ],
    writes: &[column(columns::PREORDER_NODE), column(columns::PREORDER_PARENT), column(columns::NODE_PREORDER)],
    arrays: &[&[Offsets::SIZE, per_edge::<NodeId>()], &[per_node::<Preorder>()]],
    least: &[bits_per_node(1)],
    fixed: 8 << 20,
    shares: true,
    passes: "each node's edges once, in depth-first order",
    run,
    ..Stage::NEW
};

/// When a node is found, the edges of new nodes among this many of its targets are prefetched.
const AHEAD: usize = 8;

/// Nodes numbered between two checks for cancellation.
const BATCH: usize = 1 << 16;

/// A node on the path from the root to the current node, with the position of its edges, so that it is looked up once.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Level {
    /// The first edge not yet followed, and the number of such edges.
    next: u64,
    left: u32,
    number: Preorder,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let root = job.metadata()?.root;
    let nodes = ColumnReader::open(job.scratch, columns::ESSENTIAL_DEGREE)?.remaining();
    job.context.progress.begin(STAGE.name, nodes);
    let path = Stack::new(&job.context.budget, job.scratch, "preorder.path")?;
    let found = Bitset::new(&job.context.budget, "preorder: found nodes", nodes as usize)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut offsets, mut to) =
        plan.make((offsets(columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO), lookup(columns::ESSENTIAL_TO)))?;
    let count = on_resident!(offsets, to => search(root, found, offsets, to, path, job))?;
    drop((offsets, to));
    number(nodes as usize, job)?;
    job.context.progress.end();
    Ok(Stats { rows: u64::from(count), spilled_bytes: plan.spilled_bytes() })
}

/// Writes the number of each node, part by part of the nodes if memory is short: another pass over the preorder costs
/// less than paging.
fn number(nodes: usize, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut column = ColumnWriter::create(scratch, columns::NODE_PREORDER)?;
    let room = (context.budget.free() / 8 * 7) as usize / size_of::<Preorder>();
    let mut part = context.budget.filled("preorder: numbers", room.clamp(1, nodes.max(1)), Preorder::NONE)?;
    for first in (0..nodes).step_by(part.len()) {
        let count = part.len().min(nodes - first);
        if first > 0 {
            part[..count].fill(Preorder::NONE);
        }
        let mut order = ColumnReader::open(scratch, columns::PREORDER_NODE)?;
        let mut number = 0;
        while order.remaining() > 0 {
            for node in order.next_slice(BATCH)? {
                // Nodes before the part wrap around and are outside as well.
                if let Some(place) = part[..count].get_mut(node.index().wrapping_sub(first)) {
                    *place = Preorder(number);
                }
                number += 1;
            }
            context.check()?;
        }
        column.extend(&part[..count])?;
    }
    column.finish().map(drop)
}

/// Searches from the root and all orphans. Returns the number of nodes reached.
fn search<O, E>(
    root: NodeId,
    found: Bitset,
    offsets: Offsets<O>,
    to: E,
    path: Stack<Level>,
    job: &Job<'_>,
) -> Result<u32, StageError>
where
    O: ReadAt<OffsetBlock>,
    E: ReadAt<NodeId>,
{
    let Job { scratch, context, .. } = *job;
    let nodes = ColumnWriter::create(scratch, columns::PREORDER_NODE)?;
    let parents = ColumnWriter::create(scratch, columns::PREORDER_PARENT)?;
    let mut search = Search { offsets, to, found, path, nodes, parents, count: 0, context };
    search.visit(root, Preorder(0))?;
    let mut orphans = ColumnReader::open(scratch, columns::ESSENTIAL_ORPHAN)?;
    while orphans.remaining() > 0 {
        // No essential edge enters an orphan, so the search has not reached it.
        search.visit(orphans.next()?, Preorder(0))?;
    }
    search.nodes.finish()?;
    search.parents.finish()?;
    Ok(search.count)
}

struct Search<'a, O, E> {
    offsets: Offsets<O>,
    to: E,
    found: Bitset,
    path: Stack<Level>,
    nodes: ColumnWriter<NodeId>,
    parents: ColumnWriter<Preorder>,
    count: u32,
    context: &'a Context<'a>,
}

impl<O, E> Search<'_, O, E>
where
    O: ReadAt<OffsetBlock>,
    E: ReadAt<NodeId>,
{
    /// Numbers a node and all unnumbered nodes that it reaches.
    fn visit(&mut self, start: NodeId, parent: Preorder) -> Result<(), StageError> {
        let mut level = self.discover(start, parent)?;
        loop {
            match self.descend(&mut level)? {
                Some(target) => {
                    let below = self.discover(target, level.number)?;
                    // A node without further edges need not return to the stack.
                    if level.left > 0 {
                        self.path.push(level)?;
                    }
                    level = below;
                }
                None => match self.path.pop()? {
                    Some(above) => level = above,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Follows the edges of a level up to the next node without a number.
    #[inline]
    fn descend(&mut self, level: &mut Level) -> Result<Option<NodeId>, StageError> {
        while level.left > 0 {
            let target = self.to.get(level.next as usize)?;
            level.next += 1;
            level.left -= 1;
            if !self.found.contains(target.index()) {
                return Ok(Some(target));
            }
        }
        Ok(None)
    }

    /// Numbers a node, and prefetches the edges of its new targets.
    #[inline]
    fn discover(&mut self, node: NodeId, parent: Preorder) -> Result<Level, StageError> {
        let number = Preorder(self.count);
        self.found.insert(node.index());
        self.count += 1;
        self.nodes.push(node)?;
        self.parents.push(parent)?;
        self.context.step_every(1 << 16, self.count)?;
        let edges = self.offsets.range(node.index())?;
        for edge in edges.clone().take(AHEAD) {
            let target = self.to.get(edge)?.index();
            if !self.found.contains(target) {
                let first = self.offsets.start(target)?;
                self.to.prefetch(first);
            }
        }
        Ok(Level { next: edges.start as u64, left: edges.len() as u32, number })
    }
}
