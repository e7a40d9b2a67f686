//! The first node with each value, for columns on disk. Used by [`super::equality`].
//!
//! Two passes over the nodes, in blocks on all threads. The hash pass hashes the record of each node, with its slots in
//! order; the verify pass builds and compares the records of nodes with repeated hashes. The calling thread processes a
//! node with more edges than a block in its turn.
//!
//! Memory: some blocks per thread ([`super::equal_blocks`]), plus [`super::slots`] and [`heaplake_kit::dedup`].

use super::equal_blocks::{Aids, BLOCK_BYTES, Block, Filling, Heap, Input, Looks};
use super::slots::{Slot, Slots};
use super::survey::TRAITS;
use heaplake_kit::array_plan::{column_bytes, lookup};
use heaplake_kit::dedup::{HashPass, Records, VerifyPass};
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Job, OrderedPool, SharedLookup, StageError, create_all, finish_all,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;

/// Name of the memory reservation.
const WHO: &str = "equality";

/// More threads would wait for the columns.
const MOST_THREADS: usize = 16;

/// Finds and writes values, numbers of slots and limits of all nodes. Returns the bytes spilled.
pub(super) fn find(heap: &Heap<'_>, nodes: u32, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    let slots = Slots::new(&context.budget, scratch)?;
    let mut hashes = HashPass::new(nodes, scratch, &context.budget)?;
    // A fourth of the free budget: the arrays need the rest more.
    let jobs = (context.budget.free() / 4 / BLOCK_BYTES) as usize;
    let pool =
        OrderedPool::plan(context, "equality: blocks", OrderedPool::threads(jobs).min(MOST_THREADS), BLOCK_BYTES)?;
    let names = || -> Result<SharedLookup<StringId>, StageError> {
        let plan = ArrayPlan::of(job, WHO);
        let mut plan = if heap.meanings.rules.captured { plan } else { plan.streamed() };
        plan.one(lookup(columns::NODE_NAME)).map(Into::into)
    };
    let looks = Looks { names: names()?, traits: Some(ArrayPlan::of(job, WHO).one(lookup(TRAITS))?.into()) };
    let slots = Pass { heap, looks, pool: &pool, slots, job }.hash(&mut hashes)?;
    scratch.discard(TRAITS);
    let name_bytes = if heap.meanings.rules.captured { column_bytes(scratch, columns::NODE_NAME) } else { 0 };
    let verify = hashes.finish(name_bytes, context)?;
    let looks = Looks { names: names()?, traits: None };
    Pass { heap, looks, pool: &pool, slots, job }.verify(verify)
}

/// A pass over all nodes.
struct Pass<'a> {
    heap: &'a Heap<'a>,
    looks: Looks,
    pool: &'a OrderedPool,
    /// For nodes that form a block of their own.
    slots: Slots<'a>,
    job: &'a Job<'a>,
}

impl<'a> Pass<'a> {
    /// The hash pass: the hash of each node, its slots with targets compared by value, and its limits. Returns the
    /// slots.
    fn hash(mut self, hashes: &mut HashPass<'_>) -> Result<Slots<'a>, StageError> {
        let (heap, scratch) = (self.heap, self.job.scratch);
        let (mut degrees, mut limits) = create_all(scratch, (columns::EQUAL_DEGREE, columns::EQUAL_LIMITS))?;
        let mut to = heap.follows.then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?;
        let mut input = Input::open(scratch)?;
        input.traits = Some(ColumnReader::open(scratch, TRAITS)?);
        let is_wanted = |node| Ok(!heap.meanings.opaque.contains(node as usize));
        self.each(input, is_wanted, Block::hash, |block, aids, slots| {
            if block.is_large {
                block.read_large(aids, slots, scratch)?;
                feed(hashes, block, slots)?;
                let is_followed = |slot: Slot| slot.own().is_none();
                let mut take = |slot: Slot| to.as_mut().map_or(Ok(()), |to| to.push(slot.target()));
                slots.each(|slot| if is_followed(slot) { take(slot) } else { Ok(()) })?;
            }
            for (node, own) in (block.begin..).zip(&block.nodes) {
                degrees.push(own.outcome.degree)?;
                limits.push(own.outcome.limits)?;
                if own.is_wanted && !block.is_large {
                    hashes.add(node, own.hash, own.words)?;
                }
            }
            to.as_mut().map_or(Ok(()), |to| to.extend(&block.to))
        })?;
        finish_all((degrees, limits))?;
        to.map(ColumnWriter::finish).transpose()?;
        Ok(self.slots)
    }

    /// The verify pass: the first node with each value. Returns the bytes that both passes spilled.
    fn verify(mut self, mut verify: VerifyPass) -> Result<u64, StageError> {
        let scratch = self.job.scratch;
        let mut values = ColumnWriter::create(scratch, columns::EQUAL_VALUE)?;
        let mut wanted = VerifyPass::wanted(scratch)?;
        self.each(
            Input::open(scratch)?,
            |_| wanted.next(),
            Block::write_records,
            |block, aids, slots| {
                if block.is_large {
                    block.read_large(aids, slots, scratch)?;
                    return values.push(NodeId(feed(&mut verify, block, slots)?));
                }
                let mut records = block.records.as_slice();
                for (node, own) in (block.begin..).zip(&block.nodes) {
                    if !own.is_wanted {
                        values.push(NodeId(node))?;
                        continue;
                    }
                    let (record, rest) = records.split_at(own.words as usize);
                    records = rest;
                    verify.begin(node)?;
                    record.iter().try_for_each(|&word| verify.word(word))?;
                    values.push(NodeId(verify.end()?))?;
                }
                Ok(())
            },
        )?;
        values.finish()?;
        Ok(verify.finish(scratch))
    }

    /// Visits all nodes: threads run `work` on blocks, which `take` receives in order.
    fn each(
        &mut self,
        input: Input,
        is_wanted: impl FnMut(u32) -> Result<bool, StageError>,
        work: fn(&mut Block, &mut Aids<'_>) -> Result<(), StageError>,
        mut take: impl FnMut(&mut Block, &mut Aids<'_>, &mut Slots<'_>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let Self { heap, looks, pool, slots, job: Job { context, .. } } = self;
        let mut filling = Filling::new(input, is_wanted);
        let aids = || Aids::new(heap, looks, context);
        let mut of_taker = aids();
        pool.run(
            context,
            |block: &mut Block| filling.fill(block, context),
            || {
                let mut aids = aids();
                move |block| block.failed = work(block, &mut aids).err()
            },
            |block| {
                block.failed.take().map_or(Ok(()), Err)?;
                take(block, &mut of_taker, slots)
            },
        )
    }
}

/// Feeds the record of the only node of a block. Returns the first node with the same record, as far as the pass knows.
fn feed(records: &mut impl Records, block: &Block, slots: &mut Slots<'_>) -> Result<u32, StageError> {
    records.begin(block.begin)?;
    block.nodes[0].node.words().into_iter().try_for_each(|word| records.word(word))?;
    slots.each(|slot| slot.words().try_for_each(|word| records.word(word)))?;
    records.end()
}
