//! Stage `distances`: the distance of every node from the roots that the user knows.
//!
//! * Computes: breadth-first distances from each of the seeds in turn, over the edges that distances follow. The nodes
//!   of a seed get its distance; the search continues from there over nodes without a distance. Of two paired edges
//!   (those of a weak map's entry) the search skips the first one that it meets while their target has no distance, and
//!   follows the second one. Edges that paths avoid are followed last, to nodes without a distance only, and the search
//!   continues from there over all edges.
//! * Input: all edges; if distances follow essential edges only, the essential edges.
//! * Resident memory: 5.2 bytes per node and 5 per edge; where the budget does not allow that, a bit per edge, and 1.2
//!   bytes per node and 4 per edge, packed or paged. While pairs are checked 8 bytes per pair. Three bits per node for
//!   the levels and for nodes with a distance, and two where paths avoid some edges; one bit per pair.
//! * Passes over disk: each node's edges once. Nodes of a level are visited in ascending order, the order of their
//!   distances, so that reads and writes move forward. A level of more than one in [`WIDE`] nodes is a set, not a list.
//!   All threads expand it if the edges are in memory; else the edges are read as a column, which is faster than single
//!   lookups. If a pair has more than two edges or more than one target, which no known runtime writes, the order
//!   within a level affects the result; then nodes are visited in order of discovery, and a level too wide for a list
//!   goes to disk.
//! * Worst case: linear in nodes and edges, plus sorting each level.
//! * Fails when: the budget is too small.
//! * Determinism: the next level does not depend on the order in which threads find it; see above for other orders.
//! * Reference: Chrome DevTools, distances.

use crate::level::{LEVELS, Level};
use crate::special_edges::{ALL_FOLLOWED, Avoided, Pairs};
use crate::spilled_search::{Distances, SpecialFlags, Sweep};
use crate::wide_level::{Before, SharedEdges};
use heaplake_kit::access::{bits_per_edge, bits_per_node, column, document, per_edge, per_node};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{
    ArrayPlan, Bitset, BudgetVec, ColumnReader, ColumnWriter, Job, OffsetBlock, Offsets, ReadAt, Reservation, Stage,
    StageError, Stats, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, DistanceSeed, NO_DISTANCE, documents, edge_flags};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "distances",
    version: 2,
    reads: &[
        document(documents::METADATA),
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
    arrays: &[&[Offsets::SIZE, per_node::<i32>(), per_edge::<u8>(), per_edge::<NodeId>()]],
    least: &[bits_per_node(6), bits_per_edge(1)],
    fixed: PairSpill::MOST_BYTES + (8 << 20),
    // Distances, with the nodes that have them.
    temporary: &[bits_per_node(56)],
    passes: "each node's edges once, level by level",
    run,
    ..Stage::NEW
};

/// A level with more than one of this many nodes is a set.
const WIDE: usize = 1024;

/// A level with fewer nodes is always a list.
const NARROW: usize = 1 << 14;

/// Readahead in nodes of a list if edges are on disk.
const AHEAD: usize = 64;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    run_with(true, NARROW, job)
}

/// Runs the stage; in memory only if `may_fit`; levels of at most `narrow` nodes are lists.
pub(crate) fn run_with(may_fit: bool, narrow: usize, job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = job.metadata()?;
    let (degrees, targets) = if metadata.follows_essential {
        (columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO)
    } else {
        (columns::NODE_EDGE_COUNT, columns::EDGE_TO)
    };
    let nodes = ColumnReader::open(scratch, degrees)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let pairs = if metadata.follows_essential { Pairs::none(context)? } else { Pairs::open(job)? };
    let most = (nodes as usize / WIDE).max(narrow);
    // Reserve the lists first, so that the arrays do not take their memory.
    let avoided = Avoided::open(nodes, metadata.follows_essential, scratch, context)?;
    let late = avoided.as_ref().map_or(0, |avoided| avoided.edges.len() as u64);
    let listed = context.budget.reserve("distances: levels", 16 * (most as u64 + late) + nodes / 4)?;
    let reached = Bitset::new(&context.budget, "distances: reached", nodes as usize)?;
    let list = |rest| Level::new(most, pairs.ambiguous.then_some((rest, scratch)), &context.budget, nodes as usize);
    let (level, next) = (list(LEVELS[0]), list(LEVELS[1]));
    let (sweeps, shared) = (None, None);
    let levels = Levels { seeds: &metadata.distance_seeds, reached, level, next, pairs, avoided, sweeps, shared };
    let columns = EdgeColumns { degrees, targets, flags: (!metadata.follows_essential).then_some(columns::EDGE_FLAGS) };
    let stats = in_memory_or_not(nodes as usize, may_fit, columns, levels, listed, job)?;
    context.progress.end();
    Ok(stats)
}

#[derive(Clone, Copy)]
struct EdgeColumns {
    degrees: Column<u32>,
    targets: Column<NodeId>,
    /// None if all edges are followed.
    flags: Option<Column<u8>>,
}

/// Searches with all arrays in memory if they fit, else with those of [`spilled_search`](crate::spilled_search).
/// Releases the memory reserved for lists after all other allocations.
fn in_memory_or_not(
    nodes: usize,
    may_fit: bool,
    EdgeColumns { degrees, targets, flags }: EdgeColumns,
    levels: Levels<'_>,
    listed: Reservation,
    job: &Job<'_>,
) -> Result<Stats, StageError> {
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let requests = (offsets(degrees, targets), filled(nodes, NO_DISTANCE), flags.map(lookup), lookup(targets));
    if may_fit && plan.holds(&requests) {
        let (mut offsets, mut distance, flags, mut to) = plan.make(requests)?;
        drop(listed);
        let levels = Levels { shared: SharedEdges::of(&offsets, &to, flags.as_ref()), ..levels };
        let rows = match flags {
            None => on_resident!(distance, offsets, to => search(distance, offsets, ALL_FOLLOWED, to, levels, job))?,
            Some(mut flags) => {
                on_resident!(distance, offsets, flags, to => search(distance, offsets, flags, to, levels, job))?
            }
        };
        distance.write_to(job.scratch, columns::NODE_DISTANCE)?;
        return Ok(Stats { rows, spilled_bytes: 0 });
    }
    let mut distance = PairSpill::create(&job.context.budget, job.scratch, STAGE.name, nodes, nodes as u64)?;
    let flags = flags.map(|_| SpecialFlags::open(job)).transpose()?;
    let (offsets, to) = plan.make((offsets(degrees, targets), lookup(targets)))?;
    drop(listed);
    // Packed targets in memory are looked up: that takes half of the time of reading the column from the disk.
    let levels = Levels { sweeps: (!to.is_in_memory()).then_some(targets), ..levels };
    let rows = match flags {
        None => search(&mut distance, offsets, ALL_FOLLOWED, to, levels, job)?,
        Some(flags) => search(&mut distance, offsets, flags, to, levels, job)?,
    };
    let spilled_bytes = plan.spilled_bytes() + distance.spilled_bytes();
    distance.write_last(job.scratch, job.context, NO_DISTANCE, columns::NODE_DISTANCE)?;
    Ok(Stats { rows, spilled_bytes })
}

/// The state of the search besides the large arrays.
struct Levels<'a> {
    seeds: &'a [DistanceSeed],
    reached: Bitset,
    level: Level<'a>,
    next: Level<'a>,
    pairs: Pairs,
    avoided: Option<Avoided>,
    /// The targets, if they are not in memory.
    sweeps: Option<Column<NodeId>>,
    /// The edges, if they and the distances are in memory.
    shared: Option<SharedEdges>,
}

/// Searches from all seeds. Returns the number of nodes that got a distance.
fn search<D, O, F, E>(
    distance: D,
    offsets: Offsets<O>,
    flags: F,
    to: E,
    levels: Levels<'_>,
    job: &Job<'_>,
) -> Result<u64, StageError>
where
    D: Distances,
    O: ReadAt<OffsetBlock>,
    F: ReadAt<u8>,
    E: ReadAt<NodeId>,
{
    let Levels { seeds, reached, level, next, pairs, avoided, sweeps, shared } = levels;
    let mut search =
        Search { offsets, to, flags, pairs, avoided, sweeps, shared, distance, reached, level, next, rows: 0, job };
    let mut nodes = ColumnReader::open(job.scratch, columns::DISTANCE_SEED)?;
    let mut again = ColumnReader::open(job.scratch, columns::DISTANCE_SEED)?;
    seeds.iter().try_for_each(|seed| search.run(seed, [&mut nodes, &mut again]))?;
    search.run_on()?;
    Ok(search.rows)
}

struct Search<'a, D, O, F, E> {
    offsets: Offsets<O>,
    to: E,
    flags: F,
    pairs: Pairs,
    avoided: Option<Avoided>,
    sweeps: Option<Column<NodeId>>,
    shared: Option<SharedEdges>,
    /// Distances of this level and the levels before.
    distance: D,
    /// Nodes of this level, the levels before and the next one.
    reached: Bitset,
    level: Level<'a>,
    next: Level<'a>,
    /// Number of nodes reached.
    rows: u64,
    job: &'a Job<'a>,
}

impl<D, O, F, E> Search<'_, D, O, F, E>
where
    D: Distances,
    O: ReadAt<OffsetBlock>,
    F: ReadAt<u8>,
    E: ReadAt<NodeId>,
{
    /// Searches from a seed. Both readers are at its first node.
    fn run(&mut self, seed: &DistanceSeed, [nodes, again]: [&mut ColumnReader<NodeId>; 2]) -> Result<(), StageError> {
        self.level.clear();
        for _ in 0..seed.count {
            let node = nodes.next()?;
            self.rows += u64::from(self.reached.insert(node.index()));
            self.set(node, seed.distance)?;
        }
        // Distances are not checked: a node that is a seed twice is expanded twice, as in DevTools, and then meets its
        // own paired edges again.
        self.expand_all(again, seed.count)?;
        let mut distance = seed.distance;
        loop {
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
            distance += 1;
            if self.level.is_empty() {
                return Ok(());
            }
            self.expand_level(distance)?;
        }
    }

    /// Expands the next nodes of a column.
    fn expand_all(&mut self, nodes: &mut ColumnReader<NodeId>, count: u64) -> Result<(), StageError> {
        for done in 1..=count {
            self.expand(nodes.next()?)?;
            self.job.context.step_every(1 << 16, done)?;
        }
        self.job.context.step(count % (1 << 16))
    }

    /// Continues over the edges that paths avoid, after all others.
    fn run_on(&mut self) -> Result<(), StageError> {
        let Some(mut avoided) = self.avoided.take() else { return Ok(()) };
        avoided.distances.sort_by_key(|&(node, _)| node);
        let pending = self.pending(&avoided)?;
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
                if self.reach(target) {
                    self.level.push(target)?;
                }
            }
            self.expand_level(distance)?;
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
            distance += 1;
        }
        let mut column = ColumnWriter::create(self.job.scratch, columns::NODE_AVOIDED)?;
        for node in 0..self.offsets.groups() {
            column.push(self.avoided.as_ref().is_some_and(|avoided| avoided.late.contains(node)).into())?;
        }
        column.finish().map(drop)
    }

    /// Returns the targets without a distance of edges that paths avoid, with their new distance, nearest first.
    fn pending(&mut self, avoided: &Avoided) -> Result<BudgetVec<(i32, NodeId)>, StageError> {
        let mut pending = self.job.context.budget.growing("distances: late nodes");
        for (at, (&edge, &from)) in avoided.edges.iter().zip(avoided.from.iter()).enumerate() {
            if let Some(far) = avoided.distance_of(from) {
                let target = self.to.get(edge as usize)?;
                if !self.reached.contains(target.index()) {
                    pending.push((far + 1, target))?;
                }
            }
            self.job.context.check_every(1 << 12, at)?;
        }
        pending.sort_unstable();
        Ok(pending)
    }

    /// Marks a node as reached; returns whether it is new.
    #[inline]
    fn reach(&mut self, node: NodeId) -> bool {
        let is_new = self.reached.insert(node.index());
        self.rows += u64::from(is_new);
        if let Some(avoided) = self.avoided.as_mut().filter(|avoided| is_new && avoided.follows) {
            avoided.late.insert(node.index());
        }
        is_new
    }

    /// Sets the distance of the nodes of the level, and adds their new targets to the next one.
    fn expand_level(&mut self, distance: i32) -> Result<(), StageError> {
        if self.level.wide {
            return self.expand_set(distance);
        }
        if !self.pairs.ambiguous {
            self.level.nodes.sort_unstable();
        }
        let context = self.job.context;
        for i in 0..self.level.nodes.len() {
            if let Some(&soon) = self.level.nodes.get(i + AHEAD).filter(|_| self.sweeps.is_some()) {
                let first = self.offsets.start(soon.index())?;
                self.to.prefetch(first);
            }
            self.settle(self.level.nodes[i], distance)?;
            if i % (1 << 16) == (1 << 16) - 1 {
                context.step(1 << 16)?;
            }
        }
        context.step((self.level.nodes.len() % (1 << 16)) as u64)?;
        let Some(mut rest) = self.level.rest()? else { return Ok(()) };
        while rest.remaining() > 0 {
            let count = rest.remaining().min(1 << 16);
            (0..count).try_for_each(|_| self.settle(rest.next()?, distance))?;
            context.step(count)?;
        }
        Ok(())
    }

    /// Like [`Self::expand_level`] for a set: first the nodes that threads can share, then the rest.
    fn expand_set(&mut self, distance: i32) -> Result<(), StageError> {
        let Some(mut set) = self.level.set.take() else { return Ok(()) };
        self.expand_shared(&mut set, distance)?;
        let mut sweep = self.sweeps.map(|to| Sweep::open(self.job.scratch, to)).transpose()?;
        let mut count = 0;
        for word in 0..set.words() {
            for node in set.take_word(word) {
                match &mut sweep {
                    None => self.settle(NodeId(node as u32), distance)?,
                    Some(sweep) => self.settle_in_sweep(NodeId(node as u32), distance, sweep)?,
                }
                count += 1;
            }
            if word.is_multiple_of(1 << 10) {
                self.job.context.step(std::mem::take(&mut count))?;
            }
        }
        self.level.set = Some(set);
        self.next.narrow()?;
        self.job.context.step(count)
    }

    /// Expands the nodes of a set that threads can share, and removes them from it.
    fn expand_shared(&mut self, set: &mut Bitset, distance: i32) -> Result<(), StageError> {
        // Late nodes are recorded one by one.
        let avoided = self.avoided.as_ref();
        let Some(edges) = self.shared.as_ref().filter(|_| !avoided.is_some_and(|avoided| avoided.follows)) else {
            return Ok(());
        };
        let (Some(distances), Some(next)) = (self.distance.all(), self.next.widen()?) else { return Ok(()) };
        let before = Before { reached: &self.reached, avoided };
        edges.expand(set, distances, distance, before, next, self.job.context)?;
        self.rows += self.reached.add_all(next);
        Ok(())
    }

    #[inline]
    fn settle(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        self.set(node, distance)?;
        self.expand(node)
    }

    /// Like [`Self::settle`], with targets from the column in order; nodes must ascend.
    fn settle_in_sweep(&mut self, node: NodeId, distance: i32, sweep: &mut Sweep) -> Result<(), StageError> {
        self.set(node, distance)?;
        self.expand_with(node, |_, edge| sweep.target(edge))
    }

    /// Sets the distance of a node; if avoided edges leave it, keeps the distance for their targets.
    #[inline]
    fn set(&mut self, node: NodeId, distance: i32) -> Result<(), StageError> {
        self.distance.settle(node, distance)?;
        match &mut self.avoided {
            Some(avoided) if avoided.leave(node) => avoided.distances.push((node, distance)),
            _ => Ok(()),
        }
    }

    #[inline]
    fn expand(&mut self, node: NodeId) -> Result<(), StageError> {
        self.expand_with(node, |to, edge| Ok(to.get(edge)?))
    }

    /// Follows the edges of a node; `target` reads their targets.
    #[inline]
    fn expand_with(
        &mut self,
        node: NodeId,
        mut target: impl FnMut(&mut E, usize) -> Result<NodeId, StageError>,
    ) -> Result<(), StageError> {
        let avoids = self.avoids(node);
        for edge in self.offsets.range(node.index())? {
            let flags = self.flags.get(edge)?;
            if flags & edge_flags::FOLLOWED != 0 && !(avoids && self.is_avoided(edge)) {
                let target = target(&mut self.to, edge)?;
                self.follow(edge, flags, target)?;
            }
        }
        Ok(())
    }

    /// Whether some edges of the node are skipped for now.
    #[inline]
    fn avoids(&self, node: NodeId) -> bool {
        self.avoided.as_ref().is_some_and(|avoided| avoided.leave(node))
    }

    fn is_avoided(&self, edge: usize) -> bool {
        self.avoided.as_ref().is_some_and(|avoided| avoided.has(edge as u64))
    }

    #[inline]
    fn follow(&mut self, edge: usize, flags: u8, target: NodeId) -> Result<(), StageError> {
        let is_new = !self.reached.contains(target.index());
        if is_new && !(flags & edge_flags::PAIRED != 0 && self.pairs.is_first(edge as u64)) {
            self.reach(target);
            self.next.push(target)?;
        }
        Ok(())
    }
}
