//! Stage `class rows`: counts and sizes per class, without double counting.
//!
//! * Computes: per class, over its nodes of non-zero shallow size (of any size if the format requires it; without
//!   garbage): count, sums of sizes, least distance, largest retained size, and the sum of retained sizes over those
//!   nodes that no other node of the class dominates.
//! * Resident memory: 8 bytes per node for the layout of the dominator tree (node, and size of its subtree), beside it 4
//!   (subtree sizes, then free places; after that, classes), paged where the budget does not allow it; two bits per node
//!   (which count, and which no other of their class dominates); some 150 bytes per class.
//! * Passes over disk: two over the tree, two over the node columns in order, one over the classes at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum exceeds 64 bits.
//! * Determinism: one thread.
//! * Reference: Chrome DevTools, aggregates and their retained sizes. DevTools walks the tree with a set of the
//!   classes on the path. Here every subtree is an interval of the tree's preorder, so one number per class, the end
//!   of its outermost open interval, replaces that set.

use bytemuck::Zeroable;
use heaplake_kit::access::{bits_per_node, column, document, per_node};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, BudgetVec, ColumnReader, ColumnWriter, Job, ReadAt, ReverseReader, Scratch, Stage,
    StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Facts, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "class rows",
    version: 2,
    reads: &[
        document(documents::FACTS),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::CLASS_NAME),
        column(columns::NODE_CLASS),
        column(columns::NODE_SELF),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_NATIVE).if_any(),
        column(columns::NODE_RETAINED),
        column(columns::NODE_DISTANCE),
    ],
    writes: &[column(columns::CLASS_ROW), column(columns::NODE_OUTERMOST)],
    arrays: &[&[per_node::<[u32; 2]>(), per_node::<u32>()], &[per_node::<[u32; 2]>(), per_node::<ClassId>()]],
    least: &[bits_per_node(2)],
    fixed: 8 << 20,
    passes: "dominator tree twice, node columns twice",
    run,
    ..Stage::NEW
};

/// The accumulated row of a class.
#[derive(Clone)]
struct Tally {
    row: ClassRow,
}

/// Writes the rows of all classes that have a node of non-zero shallow size, by retained size, largest first, equals by
/// class.
fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let facts = &job.facts()?;
    context.progress.begin(STAGE.name, 2 * facts.node_count);
    let mut tallies = context.budget.filled(STAGE.name, job.class_count()?, Tally::new())?;
    let mut members = Bitset::new(&context.budget, "class rows: members", facts.node_count as usize)?;
    Members::open(facts, scratch)?.add_up(facts, &mut tallies, &mut members, job)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let layout = lay_out(&mut plan, job)?;
    retained(facts, &mut tallies, &members, layout, &mut plan, job)?;
    let spilled_bytes = plan.spilled_bytes();
    tallies.retain_mut(|class, tally| {
        tally.row.class_id = class as u32;
        tally.row.count > 0
    });
    tallies.sort_unstable_by_key(|tally| (std::cmp::Reverse(tally.row.retained_bytes), tally.row.class_id));
    let mut column = ColumnWriter::create(scratch, columns::CLASS_ROW)?;
    tallies.iter().try_for_each(|tally| column.push(tally.row))?;
    let rows = column.finish()?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes })
}

impl Tally {
    fn new() -> Self {
        Self { row: ClassRow { distance: i32::MAX, ..ClassRow::zeroed() } }
    }

    fn add(&mut self, member: &Member) -> Result<(), StageError> {
        let row = &mut self.row;
        row.count += 1;
        for (sum, bytes) in [
            (&mut row.self_bytes, member.self_bytes),
            (&mut row.shallow_bytes, member.shallow),
            (&mut row.native_bytes, member.native),
        ] {
            add(sum, bytes)?;
        }
        row.max_retained_bytes = row.max_retained_bytes.max(member.retained);
        // As in DevTools, the mark for "no distance" is below every distance and wins.
        row.distance = row.distance.min(member.distance);
        Ok(())
    }
}

fn add(sum: &mut u64, bytes: u64) -> Result<(), StageError> {
    let Some(total) = sum.checked_add(bytes) else { return Err(StageError::Overflow("the size of a class")) };
    *sum = total;
    Ok(())
}

/// A node's columns are prefetched so many nodes before they are used.
const AHEAD: usize = 16;

/// A node as a member of its class.
struct Member {
    self_bytes: u64,
    shallow: u64,
    native: u64,
    retained: u64,
    distance: i32,
}

/// All nodes in order.
struct Members {
    class: ColumnReader<ClassId>,
    self_bytes: ColumnReader<u64>,
    shallow: ColumnReader<u64>,
    native: Option<ColumnReader<u64>>,
    retained: ColumnReader<u64>,
    distance: ColumnReader<i32>,
    /// Where some may be garbage.
    preorder: Option<ColumnReader<Preorder>>,
}

impl Members {
    fn open(facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let native = facts.has_native.then(|| ColumnReader::open(scratch, columns::NODE_NATIVE));
        let preorder = facts.keeps_garbage.then(|| ColumnReader::open(scratch, columns::NODE_PREORDER));
        Ok(Self {
            class: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            self_bytes: ColumnReader::open(scratch, columns::NODE_SELF)?,
            shallow: ColumnReader::open(scratch, columns::NODE_SHALLOW)?,
            native: native.transpose()?,
            retained: ColumnReader::open(scratch, columns::NODE_RETAINED)?,
            distance: ColumnReader::open(scratch, columns::NODE_DISTANCE)?,
            preorder: preorder.transpose()?,
        })
    }

    /// Sums over all members of each class; which nodes these are.
    fn add_up(
        mut self,
        facts: &Facts,
        tallies: &mut [Tally],
        members: &mut Bitset,
        job: &Job<'_>,
    ) -> Result<(), StageError> {
        for first in (0..facts.node_count as usize).step_by(BLOCK) {
            let count = BLOCK.min(facts.node_count as usize - first);
            let (class, distance) = (self.class.block(count)?, self.distance.block(count)?);
            let (own, shallow, retained) =
                (self.self_bytes.block(count)?, self.shallow.block(count)?, self.retained.block(count)?);
            let native = self.native.as_mut().map(|native| native.block(count)).transpose()?;
            let order = self.preorder.as_mut().map(|order| order.block(count)).transpose()?;
            for at in 0..count {
                let is_garbage = order.is_some_and(|order| order[at].is_none());
                if counts(facts, (first + at) as u32, shallow[at]) && !is_garbage {
                    members.insert(first + at);
                    tallies[class[at].index()].add(&Member {
                        self_bytes: own[at],
                        shallow: shallow[at],
                        native: native.map_or(0, |native| native[at]),
                        retained: retained[at],
                        distance: distance[at],
                    })?;
                }
            }
            job.context.step(count as u64)?;
        }
        Ok(())
    }
}

/// Whether a node counts for its class.
#[inline]
pub(crate) fn counts(facts: &Facts, node: u32, size: u64) -> bool {
    size > 0 || (facts.counts_empty && node != facts.root.0)
}

/// Retained sizes of members that no other member dominates, and the set of these members.
fn retained(
    facts: &Facts,
    tallies: &mut [Tally],
    members: &Bitset,
    mut layout: Array<[u32; 2]>,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let covered = context.budget.zeroed("class rows: covered", tallies.len())?;
    let mut outermost = Bitset::new(&context.budget, "class rows: outermost", facts.node_count as usize)?;
    let mut class = plan.one(lookup(columns::NODE_CLASS))?;
    on_resident!(layout, class => {
        Outermost { facts, members, covered, outermost: &mut outermost, class }.find(layout, job)
    })?;
    drop((layout, class));
    let mut classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_OUTERMOST)?;
    let mut part = Vec::with_capacity(BLOCK);
    for first in (0..facts.node_count as usize).step_by(BLOCK) {
        let nodes = first..(first + BLOCK).min(facts.node_count as usize);
        part.clear();
        for ((node, &class), &size) in nodes.clone().zip(classes.block(nodes.len())?).zip(sizes.block(nodes.len())?) {
            let is_outermost = outermost.contains(node);
            part.push(u8::from(is_outermost));
            if is_outermost {
                add(&mut tallies[class.index()].row.retained_bytes, size)?;
            }
        }
        column.extend(&part)?;
    }
    column.finish().map(drop)
}

/// Finds the members that no other member of their class dominates.
struct Outermost<'a, C> {
    facts: &'a Facts,
    members: &'a Bitset,
    /// For each class the end, in the tree's preorder, of the subtree of a member that is already counted.
    covered: BudgetVec<u32>,
    outermost: &'a mut Bitset,
    class: C,
}

impl<C: ReadAt<ClassId>> Outermost<'_, C> {
    /// Goes through the nodes in the order of the layout.
    fn find(&mut self, mut layout: impl ReadAt<[u32; 2]>, job: &Job<'_>) -> Result<(), StageError> {
        let reached = layout.count();
        for place in 0..reached {
            if place + AHEAD < reached {
                let [soon, _] = layout.get(place + AHEAD)?;
                self.class.prefetch(soon as usize);
            }
            let [node, size] = layout.get(place)?;
            let class = self.class.get(node as usize)?;
            if place >= self.covered[class.index()] as usize {
                self.add(NodeId(node), class, place as u32 + size);
            }
            if place.is_multiple_of(1 << 16) {
                job.context.step(1 << 16)?;
            }
        }
        // Unreached nodes are leaves under the root, or garbage.
        if reached < self.facts.node_count as usize && !self.facts.keeps_garbage {
            self.find_unreached(reached as u32, job)?;
        }
        Ok(())
    }

    fn find_unreached(&mut self, end: u32, job: &Job<'_>) -> Result<(), StageError> {
        let root = self.facts.root.index();
        let root_class = self.class.get(root)?;
        let root_covers = self.members.contains(root);
        let mut numbers = ColumnReader::open(job.scratch, columns::NODE_PREORDER)?;
        for node in 0..self.facts.node_count as u32 {
            if numbers.next()?.is_none() {
                let class = self.class.get(node as usize)?;
                if !root_covers || class != root_class {
                    self.add(NodeId(node), class, end);
                }
            }
        }
        Ok(())
    }

    /// A node that no member of its class dominates, with the end of its subtree; it may be no member itself.
    #[inline]
    fn add(&mut self, node: NodeId, class: ClassId, end: u32) {
        if self.members.contains(node.index()) {
            self.covered[class.index()] = end;
            self.outermost.insert(node.index());
        }
    }
}

/// Lays the dominator tree out in a preorder of its own: the node at each place, and the size of its subtree.
///
/// A dominator comes before what it dominates in the graph's preorder. So one sweep backwards gives the sizes of the
/// subtrees, and one forwards hands every node the next free place inside its dominator's interval.
fn lay_out(plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Array<[u32; 2]>, StageError> {
    let nodes = ColumnReader::open(job.scratch, columns::PREORDER_DOMINATOR)?.remaining() as usize;
    let (mut layout, mut tree) = plan.make((filled(nodes, [0u32; 2]), filled(nodes, 1u32)))?;
    on_resident!(layout, tree => place(layout, tree, job))?;
    Ok(layout)
}

fn place(
    mut layout: impl WriteAt<[u32; 2]>,
    // By position the size of the subtree; once the node has its place, the next free place inside its interval.
    mut tree: impl WriteAt<u32>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let nodes = tree.count();
    let mut backwards = ReverseReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    let mut position = nodes;
    while position > 1 {
        for dominator in backwards.next_slice(position - 1)?.iter().rev() {
            position -= 1;
            let below = tree.get(position)?;
            tree.change(dominator.index(), |size| *size += below)?;
        }
    }
    let mut dominators = ColumnReader::<Preorder>::open(scratch, columns::PREORDER_DOMINATOR)?;
    let mut order = ColumnReader::<NodeId>::open(scratch, columns::PREORDER_NODE)?;
    for first in (0..nodes).step_by(BLOCK) {
        let count = BLOCK.min(nodes - first);
        let (dominators, order) = (dominators.block(count)?, order.block(count)?);
        for (at, (dominator, node)) in dominators.iter().zip(order).enumerate() {
            let position = first + at;
            let size = tree.get(position)?;
            let place = if position == 0 {
                0
            } else {
                tree.change(dominator.index(), |next| std::mem::replace(next, *next + size))?
            };
            tree.set(position, place + 1)?;
            layout.set(place as usize, [node.0, size])?;
        }
        context.check()?;
    }
    Ok(())
}
