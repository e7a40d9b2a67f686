//! Stage `distances`: the distance of every node from the roots that the user knows.
//!
//! * Computes: breadth-first distances from each of the seeds in turn, over the edges that distances follow. The
//!   nodes of a seed get its distance; the search continues from there over nodes without a distance. Of two paired
//!   edges (those of a weak map's entry) the first one that the search meets is skipped while its target has no
//!   distance, and the second one is followed. Edges that paths avoid are followed when all others have been, to nodes
//!   without a distance only, and the search continues from there over all edges.
//! * Input: all edges; if distances follow essential edges only, the essential edges.
//! * Resident memory: 8 bytes per node and 5 per edge, and while pairs are checked 8 per pair, paged where the budget
//!   does not allow it; one byte per four nodes for the levels, and as much where paths avoid some edges; one bit per
//!   pair.
//! * Passes over disk: each node's edges once; nodes of a level in ascending order, so that reads move forward. A
//!   level of more than one in [`WIDE`] nodes is not listed but found by a pass over the distances. If a pair has
//!   more than two edges or more than one target, which no known runtime writes, the order within a level affects the
//!   result; then nodes are visited in order of discovery, and a level that is too wide to be listed goes to disk.
//! * Worst case: linear in nodes and edges, plus sorting each level.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; see above for the order.
//! * Reference: Chrome DevTools, distances.

use crate::level::{LEVELS, Level};
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node};
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Job, Offsets, ReadAt, Scratch, Stage,
    StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, DistanceSeed, NO_DISTANCE, documents, edge_flags};
use std::ops::Deref;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "distances",
    version: 2,
    reads: &[
        document(documents::FACTS),
        column(columns::DISTANCE_SEED),
        column(columns::ESSENTIAL_DEGREE).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_TO).when(|setting| setting.follows_essential),
        column(columns::NODE_EDGE_COUNT).when(|setting| !setting.follows_essential),
        column(columns::EDGE_TO).when(|setting| !setting.follows_essential),
        column(columns::EDGE_FLAGS).when(|setting| !setting.follows_essential),
        column(columns::PAIRED_EDGE).when(|setting| !setting.follows_essential),
        column(columns::PAIRED_PAIR).when(|setting| !setting.follows_essential),
        column(columns::AVOIDED_EDGE).when(|setting| setting.follows_essential).if_any(),
        column(columns::AVOIDED_FROM).when(|setting| setting.follows_essential).if_any(),
    ],
    writes: &[
        column(columns::NODE_DISTANCE),
        column(columns::NODE_AVOIDED).when(|setting| setting.follows_essential).if_any(),
    ],
    arrays: &[&[per_node::<i32>(), per_node::<u32>(), per_edge::<u8>(), per_edge::<NodeId>()]],
    least: &[bits_per_node(4)],
    fixed: 8 << 20,
    passes: "each node's edges once, level by level",
    run,
    ..Stage::NEW
};

/// A level with more than one of this many nodes is not listed.
const WIDE: usize = 64;

/// A level with fewer nodes is always listed.
const NARROW: usize = 1 << 16;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let facts = job.facts()?;
    let (degrees, targets) = if facts.follows_essential {
        (columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO)
    } else {
        (columns::NODE_EDGE_COUNT, columns::EDGE_TO)
    };
    let nodes = ColumnReader::open(scratch, degrees)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let pairs = if facts.follows_essential { Pairs::none(context)? } else { Pairs::open(job)? };
    let most = (nodes as usize / WIDE).max(NARROW);
    // Reserve the lists first, so that the arrays do not take their memory.
    let avoided = Avoided::open(nodes, facts.follows_essential, scratch, context)?;
    let late = avoided.as_ref().map_or(0, |avoided| avoided.edges.len() as u64);
    let listed = context.budget.reserve("distances: levels", 16 * ((nodes / WIDE as u64).max(NARROW as u64) + late))?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut distance, mut offsets, flags, mut to) = plan.make((
        filled(nodes as usize, NO_DISTANCE),
        offsets(degrees),
        (!facts.follows_essential).then(|| lookup(columns::EDGE_FLAGS)),
        lookup(targets),
    ))?;
    drop(listed);
    let list = |rest| Level::new(most, pairs.ambiguous.then_some((rest, scratch)), &context.budget);
    let (level, next) = (list(LEVELS[0]), list(LEVELS[1]));
    let levels = Levels { seeds: &facts.distance_seeds, level, next, pairs, avoided };
    let reached = match flags {
        None => on_resident!(distance, offsets, to => search(distance, offsets, (AllFollowed, to), levels, job))?,
        Some(mut flags) => {
            on_resident!(distance, offsets, flags, to => search(distance, offsets, (flags, to), levels, job))?
        }
    };
    distance.write_to(scratch, columns::NODE_DISTANCE)?;
    context.progress.end();
    Ok(Stats { rows: reached, spilled_bytes: plan.spilled_bytes() })
}

/// For inputs in which distances follow all edges.
struct AllFollowed;

impl ReadAt<u8> for AllFollowed {
    fn count(&self) -> usize {
        0
    }

    #[inline]
    fn get(&mut self, _edge: usize) -> Result<u8, Fault> {
        Ok(edge_flags::FOLLOWED)
    }
}

/// The state of the search besides the large arrays.
struct Levels<'a> {
    seeds: &'a [DistanceSeed],
    level: Level<'a>,
    next: Level<'a>,
    pairs: Pairs,
    avoided: Option<Avoided>,
}

/// The searches from all seeds. Returns the number of nodes that got a distance.
fn search<D, O, B, F, E>(
    distance: D,
    offsets: Offsets<O, B>,
    (flags, to): (F, E),
    levels: Levels<'_>,
    job: &Job<'_>,
) -> Result<u64, StageError>
where
    D: WriteAt<i32>,
    O: ReadAt<u32>,
    B: Deref<Target = [u64]>,
    F: ReadAt<u8>,
    E: ReadAt<NodeId>,
{
    let Levels { seeds, level, next, pairs, avoided } = levels;
    let mut search = Search { offsets, to, flags, pairs, avoided, distance, level, next, reached: 0 };
    let mut nodes = ColumnReader::open(job.scratch, columns::DISTANCE_SEED)?;
    let mut again = ColumnReader::open(job.scratch, columns::DISTANCE_SEED)?;
    seeds.iter().try_for_each(|seed| search.run(seed, [&mut nodes, &mut again], job.context))?;
    search.run_on(job)?;
    Ok(search.reached)
}

struct Search<'a, D, O, B, F, E> {
    offsets: Offsets<O, B>,
    to: E,
    flags: F,
    pairs: Pairs,
    avoided: Option<Avoided>,
    distance: D,
    level: Level<'a>,
    next: Level<'a>,
    reached: u64,
}

impl<D, O, B, F, E> Search<'_, D, O, B, F, E>
where
    D: WriteAt<i32>,
    O: ReadAt<u32>,
    B: Deref<Target = [u64]>,
    F: ReadAt<u8>,
    E: ReadAt<NodeId>,
{
    /// The search from a seed, whose nodes both readers have next.
    fn run(
        &mut self,
        seed: &DistanceSeed,
        [nodes, again]: [&mut ColumnReader<NodeId>; 2],
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        self.level.clear();
        for _ in 0..seed.count {
            let node = nodes.next()?;
            self.reached += u64::from(self.distance.get(node.index())? == NO_DISTANCE);
            self.distance.set(node.index(), seed.distance)?;
        }
        // Not by the distances: a node that is a seed twice is expanded twice, as in DevTools, and then meets its own
        // paired edges again.
        self.expand_all(again, seed.count, seed.distance, context)?;
        let mut distance = seed.distance;
        loop {
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
            distance += 1;
            if self.level.is_empty() {
                return Ok(());
            }
            self.expand_level(distance, context)?;
        }
    }

    /// Expands the next nodes of a column, which have this distance.
    fn expand_all(
        &mut self,
        nodes: &mut ColumnReader<NodeId>,
        count: u64,
        distance: i32,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        for done in 1..=count {
            self.expand(nodes.next()?, distance + 1)?;
            if done.is_multiple_of(1 << 16) {
                context.step(1 << 16)?;
            }
        }
        context.step(count % (1 << 16))
    }

    /// Continues over the edges that paths avoid, when all others have been followed.
    fn run_on(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let Some(mut avoided) = self.avoided.take() else { return Ok(()) };
        let pending = self.pending(&avoided, job.context)?;
        avoided.follows = true;
        self.avoided = Some(avoided);
        self.level.clear();
        self.next.clear();
        let mut rest = pending.iter().peekable();
        let mut distance = 0;
        loop {
            if self.level.is_empty() {
                let Some(&&(nearest, _)) = rest.peek() else { break };
                distance = nearest;
            }
            while let Some(&(_, target)) = rest.next_if(|(next, _)| *next == distance) {
                if self.distance.get(target.index())? == NO_DISTANCE {
                    self.reach(target, distance)?;
                    self.level.push(target)?;
                }
            }
            self.expand_level(distance, job.context)?;
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
            distance += 1;
        }
        let mut column = ColumnWriter::create(job.scratch, columns::NODE_AVOIDED)?;
        for node in 0..self.distance.count() {
            column.push(self.avoided.as_ref().is_some_and(|avoided| avoided.late.contains(node)).into())?;
        }
        column.finish().map(drop)
    }

    /// Targets without a distance of the edges that paths avoid, with the distance that these give them, nearest first.
    fn pending(&mut self, avoided: &Avoided, context: &Context<'_>) -> Result<BudgetVec<(i32, NodeId)>, StageError> {
        let mut pending = context.budget.growing("distances: late nodes");
        for (at, (&edge, from)) in avoided.edges.iter().zip(avoided.from.iter()).enumerate() {
            let (far, target) = (self.distance.get(from.index())?, self.to.get(edge as usize)?);
            if far != NO_DISTANCE && self.distance.get(target.index())? == NO_DISTANCE {
                pending.push((far + 1, target))?;
            }
            if at.is_multiple_of(1 << 16) {
                context.check()?;
            }
        }
        pending.sort_unstable();
        Ok(pending)
    }

    /// Gives a node its distance.
    #[inline]
    fn reach(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        self.distance.set(node.index(), distance)?;
        self.reached += 1;
        if let Some(avoided) = self.avoided.as_mut().filter(|avoided| avoided.follows) {
            avoided.late.insert(node.index());
        }
        Ok(())
    }

    /// Gives the next distance to all new targets of the nodes at this distance.
    fn expand_level(&mut self, distance: i32, context: &Context<'_>) -> Result<(), StageError> {
        if self.level.wide {
            for node in 0..self.distance.count() {
                if self.distance.get(node)? == distance {
                    self.expand(NodeId(node as u32), distance + 1)?;
                }
                if node.is_multiple_of(1 << 16) {
                    context.check()?;
                }
            }
        } else {
            if !self.pairs.ambiguous {
                self.level.nodes.sort_unstable();
            }
            for i in 0..self.level.nodes.len() {
                self.expand(self.level.nodes[i], distance + 1)?;
                if i % (1 << 16) == (1 << 16) - 1 {
                    context.step(1 << 16)?;
                }
            }
            context.step((self.level.nodes.len() % (1 << 16)) as u64)?;
            if let Some(mut rest) = self.level.rest()? {
                let count = rest.remaining();
                self.expand_all(&mut rest, count, distance, context)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn expand(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        let avoids = self.avoided.as_ref().is_some_and(|avoided| avoided.leave(node));
        for edge in self.offsets.range(node.index())? {
            if avoids && self.avoided.as_ref().is_some_and(|avoided| avoided.has(edge as u64)) {
                continue;
            }
            let flags = self.flags.get(edge)?;
            if flags & edge_flags::FOLLOWED == 0 {
                continue;
            }
            let target = self.to.get(edge)?;
            if self.distance.get(target.index())? != NO_DISTANCE
                || (flags & edge_flags::PAIRED != 0 && self.pairs.is_first(edge as u64))
            {
                continue;
            }
            self.reach(target, distance)?;
            self.next.push(target)?;
        }
        Ok(())
    }
}

/// Edges that paths avoid.
struct Avoided {
    edges: ColumnMap<u64>,
    from: ColumnMap<NodeId>,
    /// The nodes that such edges leave.
    sources: Bitset,
    /// Whether all other edges have been followed, so that these are, too.
    follows: bool,
    /// The nodes that were reached since then.
    late: Bitset,
}

impl Avoided {
    /// Nothing where there are none.
    fn open(
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
        Ok(Some(Self { edges, from, sources, follows: false, late }))
    }

    /// Whether edges of the node are left out for now.
    #[inline]
    fn leave(&self, node: NodeId) -> bool {
        !self.follows && self.sources.contains(node.index())
    }

    fn has(&self, edge: u64) -> bool {
        self.edges.binary_search(&edge).is_ok()
    }
}

/// Paired edges, which are followed only when both have been met.
struct Pairs {
    edges: ColumnMap<u64>,
    pairs: ColumnMap<u32>,
    /// Pairs of which one edge has been met.
    met: Bitset,
    /// Whether some pair is malformed: it has a third edge, or two targets.
    ambiguous: bool,
}

impl Pairs {
    /// No pairs.
    fn none(context: &Context<'_>) -> Result<Self, StageError> {
        let met = Bitset::new(&context.budget, "distances: pairs", 0)?;
        Ok(Self { edges: ColumnMap::empty(), pairs: ColumnMap::empty(), met, ambiguous: false })
    }

    fn open(job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let mut to = ColumnReader::open(scratch, columns::EDGE_TO)?;
        let mut position = 0;
        let edges = ColumnMap::uncounted(scratch, columns::PAIRED_EDGE)?;
        let pairs = ColumnMap::uncounted(scratch, columns::PAIRED_PAIR)?;
        let count = pairs.iter().max().map_or(0, |&last| last as usize + 1);
        // Of each pair the target of its last edge, and how many edges there were.
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
            if at.is_multiple_of(1 << 16) {
                context.check()?;
            }
        }
        drop(seen);
        Ok(Self { met: Bitset::new(&context.budget, "distances: pairs", count)?, edges, pairs, ambiguous })
    }

    /// Whether this edge is the first of its pair that the search meets. A third one counts as a first one again.
    fn is_first(&mut self, edge: u64) -> bool {
        let Ok(at) = self.edges.binary_search(&edge) else { return false };
        let pair = self.pairs[at] as usize;
        !self.met.remove(pair) && self.met.insert(pair)
    }
}
