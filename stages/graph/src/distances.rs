//! Stage `distances`: how far every node is from the roots that the user knows.
//!
//! * Computes: breadth-first distances from each of the seeds in turn, over the edges that distances follow. A seed's
//!   nodes take its distance; the search goes on from there over nodes that have none yet. Of two paired edges (a weak
//!   map's) the one met first is passed over, as long as its target has no distance, and the other is followed.
//! * Reads: `node.edge_count`, `edge.{to,flags}`, `paired.*`, the seeds.
//! * Writes: `node.distance`.
//! * Resident memory: 8 bytes per node and 4 to 8 per node of the widest level; 1 bit per pair.
//! * Passes over disk: each node's edges once; nodes of a level in ascending order, so that reading moves forward. Where
//!   a pair has more than two edges or more than one target, which no runtime writes, the order within a level would
//!   show: then nodes are taken in order of discovery.
//! * Worst case: linear in nodes and edges, plus sorting each level.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; see above for the order.
//! * Reference: Chrome DevTools, distances.

use heaplake_kit::{
    Bitset, BudgetVec, ColumnMap, ColumnWriter, Context, Offsets, Scratch, StageError, StageInfo, Stats,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, DistanceSeed, NO_DISTANCE, edge_flags};

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "distances", version: 1, bytes_per_node: 16, bytes_per_edge: 0, bytes_fixed: 2 << 20 };

/// Measures the distances.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(seeds: &[DistanceSeed], scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let offsets = Offsets::load(&context.budget, "distances: offsets", scratch, columns::NODE_EDGE_COUNT)?;
    context.progress.begin(STAGE.name, offsets.groups() as u64);
    let to = ColumnMap::open(scratch, columns::EDGE_TO, None)?;
    let mut search = Search {
        pairs: Pairs::open(&to, scratch, context)?,
        to,
        flags: ColumnMap::open(scratch, columns::EDGE_FLAGS, None)?,
        distance: context.budget.filled("distances", offsets.groups(), NO_DISTANCE)?,
        level: context.budget.growing("distances: level"),
        next: context.budget.growing("distances: next level"),
        offsets,
    };
    for seed in seeds {
        search.run(seed, context)?;
    }
    let mut column = ColumnWriter::create(scratch, columns::NODE_DISTANCE)?;
    column.extend(&search.distance)?;
    column.finish()?;
    context.progress.end();
    let rows = search.distance.iter().filter(|&&distance| distance != NO_DISTANCE).count() as u64;
    Ok(Stats { rows, spilled_bytes: 0 })
}

struct Search {
    offsets: Offsets,
    to: ColumnMap<NodeId>,
    flags: ColumnMap<u8>,
    pairs: Pairs,
    distance: BudgetVec<i32>,
    level: BudgetVec<NodeId>,
    next: BudgetVec<NodeId>,
}

impl Search {
    fn run(&mut self, seed: &DistanceSeed, context: &Context<'_>) -> Result<(), StageError> {
        for &node in &seed.nodes {
            self.distance[node.index()] = seed.distance;
            // A node that is listed twice is expanded twice, as in DevTools: its paired edges meet themselves.
            self.level.push(node)?;
        }
        let mut distance = seed.distance;
        let mut waiting = 0;
        while !self.level.is_empty() {
            waiting += self.level.len() as u64;
            if waiting >= 1 << 16 {
                context.step(std::mem::take(&mut waiting))?;
            }
            if !self.pairs.ambiguous {
                self.level.sort_unstable();
            }
            distance += 1;
            self.expand(distance)?;
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
        }
        Ok(())
    }

    /// Gives everything new behind the nodes of a level this distance.
    fn expand(&mut self, distance: i32) -> Result<(), StageError> {
        for node in self.level.iter() {
            for edge in self.offsets.range(node.index()) {
                let flags = self.flags[edge];
                if flags & edge_flags::FOLLOWED == 0 {
                    continue;
                }
                let target = self.to[edge];
                let known = &mut self.distance[target.index()];
                if *known != NO_DISTANCE || (flags & edge_flags::PAIRED != 0 && self.pairs.is_first(edge as u64)) {
                    continue;
                }
                *known = distance;
                self.next.push(target)?;
            }
        }
        Ok(())
    }
}

/// Edges that count only together with their twin.
struct Pairs {
    edges: ColumnMap<u64>,
    pairs: ColumnMap<u32>,
    /// Pairs of which one edge was met.
    met: Bitset,
    /// Whether some pair is none: it has a third edge, or leads to two targets.
    ambiguous: bool,
}

impl Pairs {
    fn open(to: &[NodeId], scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let edges = ColumnMap::open(scratch, columns::PAIRED_EDGE, None)?;
        let pairs = ColumnMap::open(scratch, columns::PAIRED_PAIR, None)?;
        let count = pairs.iter().max().map_or(0, |&last| last as usize + 1);
        let mut seen = context.budget.filled("distances: pairs", count, (NodeId::NONE, 0u8))?;
        let mut ambiguous = false;
        for (&edge, &pair) in edges.iter().zip(pairs.iter()) {
            let ((target, times), this) = (&mut seen[pair as usize], to[edge as usize]);
            ambiguous |= *times >= 2 || (*times == 1 && *target != this);
            (*target, *times) = (this, times.saturating_add(1));
        }
        Ok(Self { met: Bitset::new(&context.budget, "distances: pairs", count)?, edges, pairs, ambiguous })
    }

    /// Whether this edge is the first of its pair that the search meets. A third meeting counts as a first one again.
    fn is_first(&mut self, edge: u64) -> bool {
        let Ok(at) = self.edges.binary_search(&edge) else { return false };
        let pair = self.pairs[at] as usize;
        !self.met.remove(pair) && self.met.insert(pair)
    }
}
