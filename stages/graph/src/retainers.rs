//! Stage `retainers`: the transpose of the graph of essential edges.
//!
//! * Computes: for every node in the preorder its retainers: the transpose of the essential edges, in preorder
//!   positions, with the root as the retainer of orphans. Parallel edges are kept.
//! * Output order: from the last preorder position down to position 1, each group in input order. The stage
//!   `dominators` reads in this order and so needs no random access.
//! * Resident memory: 4 bytes per node, paged where the budget does not allow it; a [`PairSpill`]; [`BLOCK_BYTES`]
//!   for each block of edges in work.
//! * Passes over disk: one over the edges; the pairs (6 or 7 bytes each) written once and read once, more often if a
//!   node has very many retainers; the groups once.
//! * Worst case: linear; the retainers of a node with very many are streamed.
//! * Fails when: the budget is too small, or the disk is full.
//! * Determinism: threads number targets and sort partitions; the results are written in order.
//! * Reference: counting sort over radix partitions, see [`heaplake_kit::spill`].

use heaplake_kit::access::{bytes_per_edge, column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{
    ArrayPlan, ColumnReader, Context, Job, Lookup, OrderedPool, ReadAt, Scratch, Stage, StageError, Stats,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::scratch as columns;

/// Maximum number of edges of a block.
const BLOCK_EDGES: usize = 1 << 15;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 16 * BLOCK_EDGES as u64;

/// More threads do not help: reading and spilling, on one thread, are then the bottleneck.
const MOST_THREADS: usize = 4;

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
    arrays: &[&[per_node::<Preorder>()]],
    fixed: PairSpill::MOST_BYTES + (4 << 20),
    // The pairs, which the groups gradually replace.
    temporary: &[bytes_per_edge(3)],
    passes: "edges once; pairs written once, read once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut input = Input::open(scratch)?;
    let pairs = input.to.remaining() + input.orphans.remaining();
    context.progress.begin(STAGE.name, pairs);
    let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let mut spill = PairSpill::create(&context.budget, scratch, "retainers.pairs", reached, pairs)?;
    let pool = OrderedPool::plan(context, "retainers: edges under way", MOST_THREADS, BLOCK_BYTES)?;
    let fill = |block: &mut Block| input.fill(block, context);
    match ArrayPlan::of(job, STAGE.name).one(lookup(columns::NODE_PREORDER))? {
        Lookup::Mapped(numbers) => {
            let number = || |block: &mut Block| block.keys.extend(block.to.iter().map(|to| numbers[to.index()]));
            pool.run(context, fill, number, |block| block.spill(&mut spill))?;
        }
        mut numbers @ Lookup::Paged(_) => pool.run(
            context,
            fill,
            || |_: &mut Block| (),
            |block| {
                for to in &block.to {
                    block.keys.push(numbers.get(to.index())?);
                }
                block.spill(&mut spill)
            },
        )?,
    }
    drop(pool);
    let spilled_bytes = spill.spilled_bytes();
    spill.write_groups(scratch, context, 1, columns::RETAINERS_DEGREE, columns::RETAINERS_FROM)?;
    context.progress.end();
    Ok(Stats { rows: pairs, spilled_bytes })
}

/// A block of edges.
#[derive(Default)]
struct Block {
    /// Sources, and the number of edges from each, in order.
    from: Vec<(Preorder, u32)>,
    to: Vec<NodeId>,
    /// The preorder numbers of the targets.
    keys: Vec<Preorder>,
}

impl Block {
    fn spill(&self, spill: &mut PairSpill) -> Result<(), StageError> {
        let mut keys = self.keys.iter();
        for &(from, count) in &self.from {
            for key in keys.by_ref().take(count as usize) {
                spill.push(key.0, from.0)?;
            }
        }
        Ok(())
    }
}

/// The edges of reached nodes, then those from the root to orphans.
struct Input {
    degrees: ColumnReader<u32>,
    sources: ColumnReader<Preorder>,
    to: ColumnReader<NodeId>,
    orphans: ColumnReader<NodeId>,
    /// The node whose edges did not all fit the last block, and how many are left.
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
