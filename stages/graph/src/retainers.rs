//! Stage `retainers`: the transpose of the graph of essential edges.
//!
//! * Computes: for every node in the preorder its retainers: the transpose of the essential edges, in preorder
//!   positions, with the root as the retainer of orphans. Parallel edges are kept.
//! * Output order: from the last preorder position down to position 1, each group in input order. The stage
//!   `dominators` reads in this order and so needs no random access.
//! * Resident memory: if columns are in memory and the budget allows it, 8 bytes per node, 4 per edge and
//!   [`Passes::bytes`]. Otherwise 4 bytes per node, paged if necessary; a [`PairSpill`]; [`BLOCK_BYTES`] for each block
//!   of edges in work.
//! * Passes over disk: none in memory, where two passes count and place the edges. Otherwise one over the edges; the
//!   pairs (6 or 7 bytes each) written once and read once, those of nodes with very many retainers twice more; the
//!   groups once.
//! * Worst case: linear; the retainers of a node with very many are streamed.
//! * Fails when: the budget is too small, or the disk is full.
//! * Determinism: in memory each thread has targets of its own, see [`crate::transpose`]; else threads number targets,
//!   partition them and sort partitions. The results are written in order.
//! * Reference: counting sort; if it does not fit, over radix partitions, see [`heaplake_kit::spill`].

use crate::transpose::{Edges, Passes};
use heaplake_kit::access::{bytes_per_edge, column, per_edge, per_node};
use heaplake_kit::array_plan::{column_bytes, lookup};
use heaplake_kit::spill::{Divided, Divider, PairSpill};
use heaplake_kit::{
    ArrayPlan, ColumnMap, ColumnReader, ColumnWriter, Context, Job, Lookup, OrderedPool, ReadAt, Scratch, Stage,
    StageError, Stats,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch as columns;
use std::{iter, mem};

/// Maximum number of edges of a block.
const BLOCK_EDGES: usize = 1 << 15;

const BLOCK_BYTES: u64 = 24 * BLOCK_EDGES as u64 + PairSpill::MOST_PARTITIONS as u64 * 4;

/// More threads do not help: reading, on one thread, is then the bottleneck.
const MOST_THREADS: usize = 8;

/// Prefetch distance in edges.
const SOON: usize = 32;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "retainers",
    version: 2,
    reads: &[
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::ESSENTIAL_ORPHAN),
        column(columns::NODE_PREORDER),
        column(columns::PREORDER_NODE),
    ],
    writes: &[column(columns::RETAINERS_DEGREE), column(columns::RETAINERS_FROM)],
    arrays: &[&[per_node::<Preorder>(), per_node::<u32>(), per_edge::<Preorder>()]],
    fixed: PairSpill::MOST_BYTES + (4 << 20),
    // The pairs, which the groups gradually replace.
    shares: true,
    temporary: &[bytes_per_edge(3)],
    passes: "edges once; pairs written once, read once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    run_with(true, job)
}

/// Runs the stage; in memory only if `may_fit`.
pub(crate) fn run_with(may_fit: bool, job: &Job<'_>) -> Result<Stats, StageError> {
    let input = Input::open(job.scratch)?;
    let pairs = input.to.remaining() + input.orphans.remaining();
    let reached = ColumnReader::open(job.scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let resident = if may_fit { Edges::in_memory(job.scratch)? } else { None };
    let numbers = if resident.is_some() { numbers_beside_groups(reached, pairs, job)? } else { None };
    let spilled_bytes = match resident.zip(numbers) {
        Some((edges, numbers)) => in_memory(&edges, &numbers, reached, pairs, job).map(|()| 0),
        None => by_partitions(input, reached, pairs, job),
    }?;
    job.context.progress.end();
    Ok(Stats { rows: pairs, spilled_bytes })
}

/// Maps the preorder numbers if they fit in memory beside `reached` groups of `pairs` pairs.
fn numbers_beside_groups(reached: usize, pairs: u64, job: &Job<'_>) -> Result<Option<ColumnMap<Preorder>>, StageError> {
    let numbers = column_bytes(job.scratch, columns::NODE_PREORDER);
    let groups = (reached * size_of::<u32>()) as u64 + pairs * size_of::<Preorder>() as u64;
    // The array plan keeps a reserve.
    let free = job.context.budget.free();
    if u32::try_from(pairs).is_err() || numbers + groups + Passes::bytes(job.context.threads) > free - free / 16 {
        return Ok(None);
    }
    Ok(match ArrayPlan::of(job, STAGE.name).one(lookup(columns::NODE_PREORDER))? {
        Lookup::Resident(numbers) => Some(numbers),
        Lookup::Paged(_) => None,
    })
}

/// Computes the groups in two passes over the edges: the first counts, the second puts each source in its place.
fn in_memory(edges: &Edges, numbers: &[Preorder], reached: usize, pairs: u64, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    context.progress.begin(STAGE.name, 2 * pairs);
    let passes = Passes::plan(edges, numbers, reached, context)?;
    let mut counts = context.budget.zeros("retainers: counts", reached.max(1))?;
    passes.pass(counts.chunks_mut(passes.range()), |counts, targets, _| {
        for (at, &target) in targets.iter().enumerate() {
            targets.get(at + SOON).iter().for_each(|&&soon| counts.prefetch(soon as usize));
            counts[target as usize] += 1;
        }
    })?;
    // From here on a count is the next place in its group. The root, which comes last, has no group.
    let mut degrees = ColumnWriter::create(scratch, columns::RETAINERS_DEGREE)?;
    let mut end = 0;
    for count in counts[1..].iter_mut().rev() {
        degrees.push(*count)?;
        end += mem::replace(count, end);
    }
    degrees.finish()?;
    counts[0] = end;
    let mut from = context.budget.zeros("retainers: groups", pairs as usize)?;
    let parts = Part::of_ranges(&mut counts, &mut from, passes.range());
    passes.pass(parts.into_iter(), Part::place)?;
    ColumnWriter::write_all(scratch, columns::RETAINERS_FROM, bytemuck::cast_slice(&from[..end as usize])).map(drop)
}

/// The groups of a range of targets.
struct Part<'a> {
    /// Next place in each group.
    next: &'a mut [u32],
    /// The groups, and the number of places before them.
    groups: &'a mut [u32],
    before: u32,
}

impl<'a> Part<'a> {
    /// Splits the groups into ranges of `range` targets. Groups begin at `starts`, the last target's first.
    fn of_ranges(starts: &'a mut [u32], mut groups: &'a mut [u32], range: usize) -> Vec<Self> {
        // The groups of a range end where those of the preceding range begin.
        let ends: Vec<u32> = starts.chunks(range).filter_map(|part| part.last().copied()).collect();
        let ends = iter::once(groups.len()).chain(ends.into_iter().map(|end| end as usize));
        let mut parts: Vec<Self> = Vec::new();
        for (next, end) in starts.chunks_mut(range).zip(ends) {
            let before = next.last().copied().unwrap_or(0);
            let (rest, own) = groups[..end].split_at_mut(before as usize);
            groups = rest;
            parts.push(Self { next, groups: own, before });
        }
        parts
    }

    /// Puts sources in the groups of their targets.
    fn place(&mut self, targets: &[u32], sources: &[u32]) {
        let Self { next, groups, before } = self;
        for (at, (&target, &source)) in targets.iter().zip(sources).enumerate() {
            targets.get(at + 2 * SOON).iter().for_each(|&&soon| next.prefetch(soon as usize));
            let soon = targets.get(at + SOON);
            soon.iter().for_each(|&&soon| groups.prefetch((next[soon as usize] - *before) as usize));
            let next = &mut next[target as usize];
            groups[(*next - *before) as usize] = source;
            *next += 1;
        }
    }
}

/// Computes the groups from partitions of pairs; returns the bytes that went to disk.
fn by_partitions(mut input: Input, reached: usize, pairs: u64, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    context.progress.begin(STAGE.name, pairs);
    let mut spill = PairSpill::create(&context.budget, scratch, "retainers.pairs", reached, pairs)?;
    let divider = spill.divider();
    let pool = OrderedPool::plan(context, "retainers: edges under way", MOST_THREADS, BLOCK_BYTES)?;
    let fill = |block: &mut Block| input.fill(block, context);
    match ArrayPlan::of(job, STAGE.name).one(lookup(columns::NODE_PREORDER))? {
        Lookup::Resident(numbers) => {
            let number = || {
                |block: &mut Block| {
                    block.number(&numbers);
                    block.divide(divider, reached);
                }
            };
            pool.run(context, fill, number, |block| spill.append(block.divided()?))?;
        }
        mut numbers @ Lookup::Paged(_) => pool.run(
            context,
            fill,
            || |_: &mut Block| (),
            |block| {
                for to in &block.to {
                    block.keys.push(numbers.get(to.index())?.0);
                }
                block.divide(divider, reached);
                spill.append(block.divided()?)
            },
        )?,
    }
    drop(pool);
    let spilled_bytes = spill.spilled_bytes();
    spill.write_groups(scratch, context, 1, columns::RETAINERS_DEGREE, columns::RETAINERS_FROM)?;
    Ok(spilled_bytes)
}

#[derive(Default)]
struct Block {
    /// Sources, and the number of edges from each, in order.
    from: Vec<(Preorder, u32)>,
    to: Vec<NodeId>,
    /// The preorder numbers of the targets.
    keys: Vec<u32>,
    /// Targets and sources in preorder numbers, by partition of the spill.
    divided: Divided,
    /// Whether a target has no number.
    is_damaged: bool,
}

impl Block {
    /// Looks up the numbers of all targets.
    fn number(&mut self, numbers: &[Preorder]) {
        self.keys.extend(self.to.iter().map(|to| numbers[to.index()].0));
    }

    /// The pairs by partition.
    fn divided(&self) -> Result<&Divided, StageError> {
        let problem = || "an edge leads to a node that the search did not reach".to_owned();
        let damaged = || StageError::Scratch { path: columns::ESSENTIAL_TO.name.into(), problem: problem() };
        if self.is_damaged { Err(damaged()) } else { Ok(&self.divided) }
    }

    fn sources(&self) -> impl Iterator<Item = u32> {
        self.from.iter().flat_map(|&(from, count)| iter::repeat_n(from.0, count as usize))
    }

    /// Sorts the pairs by partition. Marks the block as damaged if a target has no number: the search did not reach it,
    /// so the columns do not belong together.
    fn divide(&mut self, divider: Divider, reached: usize) {
        self.is_damaged = self.keys.iter().any(|&key| key as usize >= reached);
        if self.is_damaged {
            return;
        }
        let mut divided = mem::take(&mut self.divided);
        divider.divide(&self.keys, self.sources(), &mut divided);
        self.divided = divided;
    }
}

/// The edges of reached nodes, then those from the root to orphans.
struct Input {
    degrees: ColumnReader<u32>,
    sources: ColumnReader<Preorder>,
    to: ColumnReader<NodeId>,
    orphans: ColumnReader<NodeId>,
    /// The node with edges left over from the last block, and their number.
    rest: Option<(Preorder, u32)>,
}

impl Input {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            degrees: ColumnReader::open(scratch, columns::ESSENTIAL_DEGREE)?,
            sources: ColumnReader::open(scratch, columns::NODE_PREORDER)?,
            to: ColumnReader::open(scratch, columns::ESSENTIAL_TO)?,
            orphans: ColumnReader::open(scratch, columns::ESSENTIAL_ORPHAN)?,
            rest: None,
        })
    }

    /// Fills a block with the next edges; returns false at the end.
    fn fill(&mut self, block: &mut Block, context: &Context<'_>) -> Result<bool, StageError> {
        block.from.clear();
        block.to.clear();
        block.keys.clear();
        while block.to.len() < BLOCK_EDGES {
            let (from, degree) = match self.rest.take() {
                Some(rest) => rest,
                None if self.sources.remaining() > 0 => (self.sources.next()?, self.degrees.next()?),
                None if self.orphans.remaining() > 0 => {
                    block.from.push((Preorder(0), 1));
                    block.to.push(self.orphans.next()?);
                    continue;
                }
                None => break,
            };
            if from.is_none() {
                // Not reached by the search, so its edges do not count.
                self.to.skip(u64::from(degree))?;
                continue;
            }
            let count = degree.min((BLOCK_EDGES - block.to.len()) as u32);
            self.to.append_to(&mut block.to, count as usize)?;
            if count > 0 {
                block.from.push((from, count));
            }
            if count < degree {
                self.rest = Some((from, degree - count));
            }
        }
        context.step(block.to.len() as u64)?;
        Ok(!block.to.is_empty())
    }
}
