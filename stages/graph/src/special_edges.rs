//! Edges that are not simply followed: those that paths avoid, and those of pairs. Used by [`super::distances`].
//!
//! Resident memory: if paths avoid some edges, two bits per node and 8 bytes per source of such an edge; a bit per
//! pair, and while pairs are checked 8 bytes per pair, paged where the budget does not allow it.

use heaplake_kit::array::Constant;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnReader, Context, Job, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, edge_flags};

/// Flags of inputs in which distances follow all edges.
pub(crate) const ALL_FOLLOWED: Constant<u8> = Constant(edge_flags::FOLLOWED);

/// Edges that paths avoid.
pub(crate) struct Avoided {
    pub edges: ColumnMap<u64>,
    pub from: ColumnMap<NodeId>,
    /// Sources of such edges.
    sources: Bitset,
    /// Distances of sources that have one; the last one of a node counts. Sorted by node when the search ends.
    pub distances: BudgetVec<(NodeId, i32)>,
    /// Whether avoided edges are followed too, since all others have been.
    pub follows: bool,
    /// Nodes reached since then.
    pub late: Bitset,
}

impl Avoided {
    /// Opens the avoided edges; `None` without any.
    pub(crate) fn open(
        nodes: u64,
        follows_essential: bool,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Option<Self>, StageError> {
        if !follows_essential || !scratch.has(columns::AVOIDED_EDGE) {
            return Ok(None);
        }
        let edges = ColumnMap::uncounted(scratch, columns::AVOIDED_EDGE)?;
        let from = ColumnMap::uncounted(scratch, columns::AVOIDED_FROM)?;
        let mut sources = Bitset::new(&context.budget, "distances: edges to avoid", nodes as usize)?;
        for node in from.iter() {
            sources.insert(node.index());
        }
        let late = Bitset::new(&context.budget, "distances: late nodes", nodes as usize)?;
        let distances = context.budget.growing("distances: edges to avoid");
        Ok(Some(Self { edges, from, sources, distances, follows: false, late }))
    }

    /// Whether edges of the node are skipped for now.
    #[inline]
    pub(crate) fn leave(&self, node: NodeId) -> bool {
        !self.follows && self.sources.contains(node.index())
    }

    /// The distance of a source of such edges, if any.
    pub(crate) fn distance_of(&self, node: NodeId) -> Option<i32> {
        let end = self.distances.partition_point(|&(other, _)| other <= node);
        self.distances[..end].last().filter(|(last, _)| *last == node).map(|&(_, distance)| distance)
    }

    pub(crate) fn has(&self, edge: u64) -> bool {
        self.edges.binary_search(&edge).is_ok()
    }
}

/// Paired edges, which are followed only when both have been met.
pub(crate) struct Pairs {
    edges: ColumnMap<u64>,
    pairs: ColumnMap<u32>,
    /// Pairs with one edge met.
    met: Bitset,
    /// Whether some pair is malformed: it has a third edge, or two targets.
    pub ambiguous: bool,
}

impl Pairs {
    /// Returns an empty set of pairs.
    pub(crate) fn none(context: &Context<'_>) -> Result<Self, StageError> {
        let met = Bitset::new(&context.budget, "distances: pairs", 0)?;
        Ok(Self { edges: ColumnMap::empty(), pairs: ColumnMap::empty(), met, ambiguous: false })
    }

    pub(crate) fn open(job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let mut to = ColumnReader::open(scratch, columns::EDGE_TO)?;
        let mut position = 0;
        let edges = ColumnMap::uncounted(scratch, columns::PAIRED_EDGE)?;
        let pairs = ColumnMap::uncounted(scratch, columns::PAIRED_PAIR)?;
        let count = pairs.iter().max().map_or(0, |&last| last as usize + 1);
        // Target of the last edge of each pair, and number of edges so far.
        let mut seen = ArrayPlan::of(job, "distances: pairs").one(filled(count, [0u32; 2]))?;
        let mut ambiguous = false;
        for (at, (&edge, &pair)) in edges.iter().zip(pairs.iter()).enumerate() {
            to.skip(edge - position)?;
            position = edge + 1;
            let this = to.next()?.0;
            seen.change(pair as usize, |[target, times]| {
                ambiguous |= *times >= 2 || (*times == 1 && *target != this);
                (*target, *times) = (this, *times + 1);
            })?;
            context.check_every(1 << 12, at)?;
        }
        drop(seen);
        Ok(Self { met: Bitset::new(&context.budget, "distances: pairs", count)?, edges, pairs, ambiguous })
    }

    /// Whether this edge is the first of its pair that the search meets. A third one counts as a first one again.
    pub(crate) fn is_first(&mut self, edge: u64) -> bool {
        let Ok(at) = self.edges.binary_search(&edge) else { return false };
        let pair = self.pairs[at] as usize;
        !self.met.remove(pair) && self.met.insert(pair)
    }
}
