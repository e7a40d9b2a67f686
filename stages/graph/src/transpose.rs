//! The transpose of a graph in memory, by counting and placing. Used by [`super::retainers`].
//!
//! A pass goes over all edges in rounds of some blocks. First threads look up the targets of blocks and sort each block
//! by ranges of targets; then each thread works on the edges of a range, in the order of the blocks. So no two threads
//! write to the same place, and groups are in input order with any number of threads.
//!
//! Resident memory: [`Passes::bytes`]. Cost: linear.

use heaplake_kit::threads::locked;
use heaplake_kit::{ColumnMap, Context, OrderedPool, Reservation, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch as columns;
use std::mem;
use std::ops::Range;
use std::sync::Mutex;

/// Maximum number of edges of a block.
const BLOCK_EDGES: usize = 1 << 15;
/// Bytes of a block: targets and sources.
const BLOCK_BYTES: u64 = 8 * BLOCK_EDGES as u64;
/// With fewer threads, one thread does everything.
const FEWEST_THREADS: usize = 4;
/// More threads do not help: cutting blocks, on one thread, is then the bottleneck.
const MOST_THREADS: usize = 16;
/// Blocks of a round for each of several threads: starting threads costs little then.
const BLOCKS_PER_THREAD: usize = 4;
/// Ranges of targets for each of several threads: edges are not spread evenly.
const RANGES_PER_THREAD: usize = 4;

/// The essential edges in memory.
pub(crate) struct Edges {
    degrees: ColumnMap<u32>,
    to: ColumnMap<NodeId>,
    orphans: ColumnMap<NodeId>,
}

impl Edges {
    /// Opens the edges; `None` if they are in files.
    pub(crate) fn in_memory(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        let in_memory = scratch.is_resident(columns::ESSENTIAL_DEGREE)
            && scratch.is_resident(columns::ESSENTIAL_TO)
            && scratch.is_resident(columns::ESSENTIAL_ORPHAN);
        in_memory.then(|| Self::open(scratch)).transpose()
    }

    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            degrees: ColumnMap::uncounted(scratch, columns::ESSENTIAL_DEGREE)?,
            to: ColumnMap::uncounted(scratch, columns::ESSENTIAL_TO)?,
            orphans: ColumnMap::uncounted(scratch, columns::ESSENTIAL_ORPHAN)?,
        })
    }
}

/// Passes over the edges of reached nodes, then over those from the root to orphans.
pub(crate) struct Passes<'a> {
    edges: &'a Edges,
    numbers: &'a [Preorder],
    context: &'a Context<'a>,
    pool: OrderedPool,
    blocks: usize,
    /// Maximum number of edges of a block.
    block_edges: usize,
    /// Binary logarithm of the number of targets of a range.
    shift: u32,
    _room: Reservation,
}

impl<'a> Passes<'a> {
    /// Memory of a run with a number of threads.
    pub(crate) fn bytes(threads: usize) -> u64 {
        let threads = sharing(threads);
        (OrderedPool::jobs(threads) + threads + blocks(threads)) as u64 * BLOCK_BYTES
    }

    /// Prepares for targets with numbers below `targets`.
    pub(crate) fn plan(
        edges: &'a Edges,
        numbers: &'a [Preorder],
        targets: usize,
        context: &'a Context<'a>,
    ) -> Result<Self, StageError> {
        let threads = sharing(context.threads);
        let blocks = blocks(threads);
        let room = context.budget.reserve("retainers: a round of edges", (blocks + threads) as u64 * BLOCK_BYTES)?;
        let pool = OrderedPool::plan(context, "retainers: edges under way", threads, BLOCK_BYTES)?;
        let ranges = if threads == 1 { 1 } else { threads * RANGES_PER_THREAD };
        let shift = targets.div_ceil(ranges).max(1).next_power_of_two().trailing_zeros();
        Ok(Self { edges, numbers, context, pool, blocks, block_edges: BLOCK_EDGES, shift, _room: room })
    }

    /// Number of targets of a range; only the last range may have fewer.
    pub(crate) fn range(&self) -> usize {
        1 << self.shift
    }

    /// Runs one pass. The edges of each range change its part; `work` gets the part with targets, numbered in their
    /// range, and their sources.
    pub(crate) fn pass<P: Send>(
        &self,
        parts: impl Iterator<Item = P>,
        work: impl Fn(&mut P, &[u32], &[u32]) + Sync,
    ) -> Result<(), StageError> {
        let parts: Vec<Mutex<P>> = parts.map(Mutex::new).collect();
        let mut cuts = Cuts::new(self.edges, self.block_edges);
        let (mut round, mut spare) = (Vec::new(), Vec::new());
        loop {
            let mut sent = 0;
            let cut = |block: &mut Block| {
                if sent == self.blocks || !cuts.next(&mut block.cut) {
                    return Ok(false);
                }
                sent += 1;
                self.context.step(block.cut.edges.len() as u64).map(|()| true)
            };
            let prepare = || {
                let (mut unsorted, ranges) = (Targets::default(), parts.len());
                move |block: &mut Block| {
                    block.look_up(self.edges, self.numbers);
                    block.sort(self.shift, ranges, &mut unsorted);
                }
            };
            self.pool.run(self.context, cut, prepare, |block| {
                round.push(mem::replace(block, spare.pop().unwrap_or_default()));
                Ok::<_, StageError>(())
            })?;
            if round.is_empty() {
                return Ok(());
            }
            let mut ranges = 0..parts.len();
            let next = |range: &mut usize| Ok(ranges.next().map(|next| *range = next).is_some());
            let apply = || {
                |range: &mut usize| {
                    let mut part = locked(&parts[*range]);
                    for block in &round {
                        let (targets, sources) = block.range(*range);
                        work(&mut part, targets, sources);
                    }
                }
            };
            self.pool.run(self.context, next, apply, |_| Ok::<_, StageError>(()))?;
            spare.append(&mut round);
        }
    }
}

/// Number of threads that share a pass. Sorting blocks by ranges costs more than two or three threads gain; those do
/// other stages instead.
fn sharing(threads: usize) -> usize {
    if threads < FEWEST_THREADS { 1 } else { threads.min(MOST_THREADS) }
}

/// Blocks of a round. One thread works on a block while it is in the cache.
fn blocks(threads: usize) -> usize {
    if threads == 1 { 1 } else { threads * BLOCKS_PER_THREAD }
}

/// The edges of a block: some of those of nodes, or, without nodes, some of those to orphans.
#[derive(Clone, Default)]
struct Cut {
    nodes: Range<usize>,
    /// Edges of the first node in earlier blocks.
    skipped: u32,
    edges: Range<usize>,
}

/// Cuts edges into blocks.
struct Cuts<'a> {
    edges: &'a Edges,
    /// Maximum number of edges of a cut.
    most: usize,
    /// Position: the next edge, its node, and the edges of that node before it; then the next orphan.
    edge: usize,
    node: usize,
    skipped: u32,
    orphan: usize,
}

impl<'a> Cuts<'a> {
    fn new(edges: &'a Edges, most: usize) -> Self {
        Self { edges, most, edge: 0, node: 0, skipped: 0, orphan: 0 }
    }

    /// Returns the next cut; false at the end.
    fn next(&mut self, cut: &mut Cut) -> bool {
        let Edges { degrees, to, orphans } = self.edges;
        let (edge, node, skipped) = (self.edge, self.node, self.skipped);
        let end = to.len().min(edge + self.most);
        while self.edge < end {
            let left = degrees[self.node] - self.skipped;
            let room = (end - self.edge) as u32;
            let is_whole = left <= room;
            self.edge += left.min(room) as usize;
            self.node += usize::from(is_whole);
            self.skipped = if is_whole { 0 } else { self.skipped + room };
        }
        *cut = if edge < end {
            Cut { nodes: node..self.node + usize::from(self.skipped > 0), skipped, edges: edge..end }
        } else {
            let first = self.orphan;
            self.orphan = orphans.len().min(first + self.most);
            Cut { nodes: 0..0, skipped: 0, edges: first..self.orphan }
        };
        !cut.edges.is_empty()
    }
}

/// The numbers of targets, and of their sources.
#[derive(Default)]
struct Targets {
    targets: Vec<u32>,
    sources: Vec<u32>,
}

#[derive(Default)]
struct Block {
    cut: Cut,
    edges: Targets,
    /// The end of the edges of each range, once they are sorted.
    ends: Vec<u32>,
}

impl Block {
    /// The edges of a range: targets, numbered in the range, and sources.
    fn range(&self, range: usize) -> (&[u32], &[u32]) {
        let start = range.checked_sub(1).map_or(0, |before| self.ends[before]);
        let edges = start as usize..self.ends[range] as usize;
        (&self.edges.targets[edges.clone()], &self.edges.sources[edges])
    }

    fn sort(&mut self, shift: u32, ranges: usize, unsorted: &mut Targets) {
        let Self { edges, ends, .. } = self;
        ends.clear();
        if ranges == 1 {
            ends.push(edges.targets.len() as u32);
            return;
        }
        mem::swap(edges, unsorted);
        // The start of each range, which becomes its end as edges are placed.
        ends.resize(ranges + 1, 0);
        unsorted.targets.iter().for_each(|target| ends[(target >> shift) as usize + 1] += 1);
        let mut sum = 0;
        ends.iter_mut().for_each(|end| {
            sum += *end;
            *end = sum;
        });
        edges.targets.resize(unsorted.targets.len(), 0);
        edges.sources.resize(unsorted.targets.len(), 0);
        for (&target, &source) in unsorted.targets.iter().zip(&unsorted.sources) {
            let next = &mut ends[(target >> shift) as usize];
            edges.targets[*next as usize] = target & ((1 << shift) - 1);
            edges.sources[*next as usize] = source;
            *next += 1;
        }
    }

    /// Looks up the numbers of all targets and sources, and drops the edges of nodes that the search did not reach.
    fn look_up(&mut self, edges: &Edges, numbers: &[Preorder]) {
        let Self { cut, edges: Targets { targets, sources }, .. } = self;
        let to = if cut.nodes.is_empty() { &edges.orphans } else { &edges.to };
        targets.clear();
        targets.extend(to[cut.edges.clone()].iter().map(|to| numbers[to.index()].0));
        sources.clear();
        let mut skipped = cut.skipped;
        let mut is_reached = true;
        for node in cut.nodes.clone() {
            let count = (edges.degrees[node] - skipped) as usize;
            skipped = 0;
            is_reached &= !numbers[node].is_none() || count == 0;
            sources.resize(targets.len().min(sources.len() + count), numbers[node].0);
        }
        // The root retains orphans.
        sources.resize(targets.len(), 0);
        if !is_reached {
            let reached = |source: &u32| !Preorder(*source).is_none();
            let mut kept = sources.iter().map(reached);
            targets.retain(|_| kept.next().unwrap_or(false));
            sources.retain(reached);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, ColumnWriter, Residents};
    use heaplake_oracle::{SplitMix64, graph};
    use heaplake_schemas::scratch::Column;
    use std::sync::atomic::AtomicBool;

    fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
        let mut writer = ColumnWriter::create(scratch, column).unwrap();
        values.into_iter().for_each(|value| writer.push(value).unwrap());
        writer.finish().unwrap();
    }

    #[test]
    fn passes_visit_each_edge_of_reached_nodes_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        assert!(Edges::in_memory(&scratch).unwrap().is_none());
        let scratch = scratch.with_residents(Residents::new(1 << 20));
        let cancel = AtomicBool::new(false);
        for seed in 0..2000 {
            let rng = &mut SplitMix64::new(seed);
            let (n, arcs) = graph::random_graph(seed, 40);
            let successors = graph::successors(n, &arcs);
            let mut numbers: Vec<Preorder> = (0..n as u32).map(Preorder).collect();
            rng.shuffle(&mut numbers);
            let orphans: Vec<NodeId> = (0..rng.below(9)).map(|_| NodeId(rng.below(n) as u32)).collect();
            // Sometimes a source that was not reached, without incoming edges.
            let lost = rng.one_in(2).then(|| rng.below(n));
            let is_lost = |node: u32| lost == Some(node as usize);
            let mut expected = vec![Vec::new(); n];
            let held = |&&(from, to): &&(u32, u32)| !is_lost(from) && !is_lost(to);
            let mut sorted = arcs.clone();
            sorted.sort_by_key(|&(from, _)| from);
            for &(from, to) in sorted.iter().filter(held) {
                expected[numbers[to as usize].index()].push(numbers[from as usize].0);
            }
            for to in orphans.iter().filter(|to| !is_lost(to.0)) {
                expected[numbers[to.index()].index()].push(0);
            }
            let orphans = orphans.into_iter().filter(|to| !is_lost(to.0));
            let kept =
                |from: usize| successors[from].iter().copied().filter(move |&to| is_lost(from as u32) || !is_lost(to));
            write(&scratch, columns::ESSENTIAL_DEGREE, (0..n).map(|from| kept(from).count() as u32));
            write(&scratch, columns::ESSENTIAL_TO, (0..n).flat_map(kept).map(NodeId));
            write(&scratch, columns::ESSENTIAL_ORPHAN, orphans);
            lost.into_iter().for_each(|node| numbers[node] = Preorder::NONE);

            let threads = 1 + rng.below(6);
            let context = Context { budget: Budget::new(64 << 20), threads, progress: &Silent, cancel: &cancel };
            let edges = Edges::in_memory(&scratch).unwrap().unwrap();
            let mut passes = Passes::plan(&edges, &numbers, n, &context).unwrap();
            assert!(context.budget.used() <= Passes::bytes(threads));
            passes.block_edges = 1 + rng.below(7);
            let mut groups = vec![Vec::new(); n];
            let collect = |groups: &mut &mut [Vec<u32>], targets: &[u32], sources: &[u32]| {
                targets.iter().zip(sources).for_each(|(&target, &source)| groups[target as usize].push(source));
            };
            passes.pass(groups.chunks_mut(passes.range()), collect).unwrap();
            assert_eq!(groups, expected, "seed {seed}, {threads} threads");
        }
    }
}
