//! Stage `preorder`: depth-first numbers for the graph of essential edges.
//!
//! * Computes: a depth-first preorder from the root over essential edges in input order, and each node's parent in
//!   it. Orphans (nodes without an incoming essential edge) count as children of the root, after its own edges, in
//!   node order. Nodes that are reachable only from cycles without an incoming edge have no number.
//! * Resident memory: 8 bytes per node and 4 per essential edge, paged where the budget does not allow it; 1 MiB of
//!   stack.
//! * Passes over disk: each node's edges once, in order of discovery; long paths spill to disk.
//! * Worst case: linear time; one list through all nodes makes the stack as long as the list, mostly on disk.
//! * Fails when: the budget is too small.
//! * Determinism: the order is a function of the input; one thread.
//! * Reference: Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{column, document, per_edge, per_node};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Context, Job, Offsets, ReadAt, Stack, Stage, StageError, Stats, WriteAt,
    on_resident,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, documents};
use std::ops::Deref;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "preorder",
    reads: &[
        document(documents::FACTS),
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::ESSENTIAL_ORPHAN),
    ],
    writes: &[column(columns::PREORDER_NODE), column(columns::PREORDER_PARENT), column(columns::NODE_PREORDER)],
    arrays: &[&[per_node::<Preorder>(), per_node::<u32>(), per_edge::<NodeId>()]],
    fixed: 8 << 20,
    shares: true,
    passes: "each node's edges once, in depth-first order",
    run,
    ..Stage::NEW
};

/// When a node is found, the numbers of this many of its targets are prefetched.
const AHEAD: usize = 8;

/// A node on the path from the root to the current node.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Level {
    node: NodeId,
    /// Number of its edges that the search has followed.
    seen: u32,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let root = job.facts()?.root;
    let nodes = ColumnReader::open(job.scratch, columns::ESSENTIAL_DEGREE)?.remaining();
    job.context.progress.begin(STAGE.name, nodes);
    let path = Stack::new(&job.context.budget, job.scratch, "preorder.path")?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut numbers, mut offsets, mut to) = plan.make((
        filled(nodes as usize, Preorder::NONE),
        offsets(columns::ESSENTIAL_DEGREE),
        lookup(columns::ESSENTIAL_TO),
    ))?;
    let count = on_resident!(numbers, offsets, to => search(root, numbers, offsets, to, path, job))?;
    numbers.write_to(job.scratch, columns::NODE_PREORDER)?;
    job.context.progress.end();
    Ok(Stats { rows: u64::from(count), spilled_bytes: plan.spilled_bytes() })
}

/// The whole search. Returns the number of nodes that it reached.
fn search<N, O, B, E>(
    root: NodeId,
    numbers: N,
    offsets: Offsets<O, B>,
    to: E,
    path: Stack<Level>,
    job: &Job<'_>,
) -> Result<u32, StageError>
where
    N: WriteAt<Preorder>,
    O: ReadAt<u32>,
    B: Deref<Target = [u64]>,
    E: ReadAt<NodeId>,
{
    let Job { scratch, context, .. } = *job;
    let nodes = ColumnWriter::create(scratch, columns::PREORDER_NODE)?;
    let parents = ColumnWriter::create(scratch, columns::PREORDER_PARENT)?;
    let mut search = Search { offsets, to, numbers, path, nodes, parents, count: 0, context };
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

struct Search<'a, N, O, B, E> {
    offsets: Offsets<O, B>,
    to: E,
    numbers: N,
    path: Stack<Level>,
    nodes: ColumnWriter<NodeId>,
    parents: ColumnWriter<Preorder>,
    count: u32,
    context: &'a Context<'a>,
}

impl<N, O, B, E> Search<'_, N, O, B, E>
where
    N: WriteAt<Preorder>,
    O: ReadAt<u32>,
    B: Deref<Target = [u64]>,
    E: ReadAt<NodeId>,
{
    /// Numbers a node and all unnumbered nodes that it reaches.
    fn visit(&mut self, start: NodeId, parent: Preorder) -> Result<(), StageError> {
        self.discover(start, parent)?;
        let mut level = Level { node: start, seen: 0 };
        loop {
            let edges = self.offsets.range(level.node.index())?;
            let mut next = edges.start + level.seen as usize;
            let mut down = None;
            if level.seen == 0 {
                for edge in edges.clone().take(AHEAD) {
                    self.numbers.prefetch(self.to.get(edge)?.index());
                }
            }
            while next < edges.end {
                let target = self.to.get(next)?;
                next += 1;
                if self.numbers.get(target.index())?.is_none() {
                    down = Some(target);
                    break;
                }
            }
            match down {
                Some(target) => {
                    let parent = self.numbers.get(level.node.index())?;
                    self.discover(target, parent)?;
                    // A node without further edges need not return to the stack.
                    if next < edges.end {
                        level.seen = (next - edges.start) as u32;
                        self.path.push(level)?;
                    }
                    level = Level { node: target, seen: 0 };
                }
                None => match self.path.pop()? {
                    Some(above) => level = above,
                    None => return Ok(()),
                },
            }
        }
    }

    #[inline]
    fn discover(&mut self, node: NodeId, parent: Preorder) -> Result<(), StageError> {
        self.numbers.set(node.index(), Preorder(self.count))?;
        self.count += 1;
        self.nodes.push(node)?;
        self.parents.push(parent)?;
        if self.count.is_multiple_of(1 << 16) { self.context.step(1 << 16) } else { Ok(()) }
    }
}
