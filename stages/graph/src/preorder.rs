//! Stage `preorder`: depth-first numbers for the holding graph.
//!
//! * Computes: a depth-first preorder from the root over holding edges in input order, and each node's parent in it.
//!   Orphans (nodes that nothing holds) count as held by the root, after its own edges, in node order. What is only
//!   reachable from unheld cycles has no number.
//! * Reads: `holds.{degree,to,orphan}`.
//! * Writes: `preorder.{node,parent}`, `node.preorder`.
//! * Resident memory: 8 bytes per node, and 8 per level of the search, at most 16 bytes per node in all; the holding
//!   edges, 4 bytes each, are mapped and touched at random.
//! * Passes over disk: each node's edges once, in order of discovery.
//! * Worst case: one list through all nodes, which makes the stack as long as the list; linear time always.
//! * Fails when: the budget is too small.
//! * Determinism: the order is a function of the input; one thread.
//! * Reference: Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.

use heaplake_kit::{ColumnMap, ColumnReader, ColumnWriter, Context, Offsets, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch as columns;

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "preorder", version: 1, bytes_per_node: 16, bytes_per_edge: 0, bytes_fixed: 2 << 20 };

/// A node on the path from the root to where the search is.
struct Level {
    node: NodeId,
    /// Its edges that the search has been along.
    seen: u32,
}

/// Numbers the nodes.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(root: NodeId, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let offsets = Offsets::load(&context.budget, "preorder: offsets", scratch, columns::HOLDS_DEGREE)?;
    context.progress.begin(STAGE.name, offsets.groups() as u64);
    let mut search = Search {
        to: ColumnMap::open(scratch, columns::HOLDS_TO, None)?,
        numbers: context.budget.filled("preorder: numbers", offsets.groups(), Preorder::NONE)?,
        path: context.budget.growing("preorder: path"),
        nodes: ColumnWriter::create(scratch, columns::PREORDER_NODE)?,
        parents: ColumnWriter::create(scratch, columns::PREORDER_PARENT)?,
        count: 0,
        context,
        offsets,
    };
    search.visit(root, Preorder(0))?;
    let mut orphans = ColumnReader::open(scratch, columns::HOLDS_ORPHAN)?;
    while orphans.remaining() > 0 {
        let orphan = orphans.next()?;
        // Nothing holds it, so nothing can have led to it.
        search.visit(orphan, Preorder(0))?;
    }
    search.nodes.finish()?;
    search.parents.finish()?;
    let mut numbers = ColumnWriter::create(scratch, columns::NODE_PREORDER)?;
    numbers.extend(&search.numbers)?;
    numbers.finish()?;
    context.progress.end();
    Ok(Stats { rows: u64::from(search.count), spilled_bytes: 0 })
}

struct Search<'a> {
    offsets: Offsets,
    to: ColumnMap<NodeId>,
    numbers: heaplake_kit::BudgetVec<Preorder>,
    path: heaplake_kit::BudgetVec<Level>,
    nodes: ColumnWriter<NodeId>,
    parents: ColumnWriter<Preorder>,
    count: u32,
    context: &'a Context<'a>,
}

impl Search<'_> {
    /// Numbers a node and everything new that it reaches.
    fn visit(&mut self, start: NodeId, parent: Preorder) -> Result<(), StageError> {
        self.discover(start, parent)?;
        let mut level = Level { node: start, seen: 0 };
        loop {
            let edges = self.offsets.range(level.node.index());
            let mut next = edges.start + level.seen as usize;
            let mut down = None;
            while next < edges.end {
                let target = self.to[next];
                next += 1;
                if self.numbers[target.index()].is_none() {
                    down = Some(target);
                    break;
                }
            }
            match down {
                Some(target) => {
                    let parent = self.numbers[level.node.index()];
                    self.discover(target, parent)?;
                    // A node whose edges are used up needs no return.
                    if next < edges.end {
                        level.seen = (next - edges.start) as u32;
                        self.path.push(level)?;
                    }
                    level = Level { node: target, seen: 0 };
                }
                None => match self.path.pop() {
                    Some(above) => level = above,
                    None => return Ok(()),
                },
            }
        }
    }

    #[inline]
    fn discover(&mut self, node: NodeId, parent: Preorder) -> Result<(), StageError> {
        self.numbers[node.index()] = Preorder(self.count);
        self.count += 1;
        self.nodes.push(node)?;
        self.parents.push(parent)?;
        if self.count.is_multiple_of(1 << 16) { self.context.step(1 << 16) } else { Ok(()) }
    }
}
