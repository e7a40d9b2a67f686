//! Stage `class rows`: what each class weighs, nothing counted twice.
//!
//! * Computes: per class, over its nodes of non-zero shallow size (of any size where the format wants that; garbage left
//!   out where the input has some): count, sums of sizes, least distance, largest
//!   retained size, and the sum of retained sizes over those nodes that no other one of them dominates.
//! * Reads: `preorder.{node,dominator}`, `node.{class,self,shallow,native,retained,distance,preorder}`.
//! * Writes: `class.row`, `node.outermost`.
//! * Resident memory: 16 bytes per node (subtree sizes, free places, and by place the nodes and their sizes), then 20
//!   (class, shallow and retained size), where the budget allows, paged where not; a bit; some 150 bytes per class.
//! * Passes over disk: two over the tree, one over the node columns in order, one at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: one thread.
//! * Reference: Chrome DevTools, aggregates and their retained sizes. There a walk over the tree keeps a set of the
//!   classes on the path; here every subtree is an interval of the tree's preorder, so one number per class, the end of
//!   its outermost open interval, says the same without a stack.

use bytemuck::Zeroable;
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, ReadAt, ReverseReader, Scratch, StageError, StageInfo,
    Stats, WriteAt,
};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, Facts, documents};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "class rows",
    version: 2,
    bytes_per_node: 20,
    bytes_per_edge: 0,
    least_bits_per_node: 1,
    least_fixed: 8 << 20,
    scratch_per_node: 1,
    scratch_per_edge: 0,
    passes: "dominator tree twice, node columns twice",
};

/// Nodes in the order of the dominator tree's own preorder, between the two halves of this stage.
const NODE_BY_PLACE: Column<NodeId> = Column::new("tree.node");
/// Sizes of their subtrees, in nodes.
const SIZE_BY_PLACE: Column<u32> = Column::new("tree.size");

/// A class on the way to its row.
#[derive(Clone)]
struct Tally {
    row: ClassRow,
    /// End, in the tree's preorder, of the subtree of a member that is counted already.
    covered: u32,
}

/// Writes the rows of all classes that have a node of non-zero shallow size, by retained size, largest first, equals by
/// class.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts = &scratch.read_document::<Facts>(documents::FACTS)?;
    context.progress.begin(STAGE.name, 2 * facts.node_count);
    let classes = facts.class_count as usize;
    let mut tallies = context.budget.filled("class rows", classes, Tally::new())?;
    add_up(facts, &mut tallies, scratch, context)?;
    let spilled_bytes = retained(facts, &mut tallies, scratch, context)?;
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
        Self { row: ClassRow { distance: i32::MAX, ..ClassRow::zeroed() }, covered: 0 }
    }
}

/// Nodes that are looked at in one go, and how many ahead of its turn a node's columns are fetched.
const BATCH: u64 = 1 << 14;
const AHEAD: usize = 16;

/// Sums over all members.
fn add_up(facts: &Facts, tallies: &mut [Tally], scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut self_bytes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut native = if facts.has_native { Some(ColumnReader::open(scratch, columns::NODE_NATIVE)?) } else { None };
    let mut numbers =
        if facts.keeps_garbage { Some(ColumnReader::open(scratch, columns::NODE_PREORDER)?) } else { None };
    for node in 0..facts.node_count {
        let tally = &mut tallies[class.next()?.index()];
        let (own, size, held, far) = (self_bytes.next()?, shallow.next()?, retained.next()?, distance.next()?);
        let native = native.as_mut().map_or(Ok(0), ColumnReader::next)?;
        let garbage = match &mut numbers {
            Some(numbers) => numbers.next()?.is_none(),
            None => false,
        };
        if counts(facts, node as u32, size) && !garbage {
            let row = &mut tally.row;
            row.count += 1;
            for (sum, bytes) in
                [(&mut row.self_bytes, own), (&mut row.shallow_bytes, size), (&mut row.native_bytes, native)]
            {
                *sum = sum.checked_add(bytes).ok_or(StageError::Overflow("the size of a class"))?;
            }
            row.max_retained_bytes = row.max_retained_bytes.max(held);
            // As in DevTools, the mark for "no distance" is below every distance and wins.
            row.distance = row.distance.min(far);
        }
        if node % (1 << 16) == 0 && node > 0 {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}

/// Whether a node counts for its class.
#[inline]
pub(crate) fn counts(facts: &Facts, node: u32, size: u64) -> bool {
    size > 0 || (facts.counts_empty && node != facts.root.0)
}

/// Retained sizes of members that no other member dominates, and which these are. Gives the bytes that were spilled.
fn retained(facts: &Facts, tallies: &mut [Tally], scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let mut spilled = lay_out(scratch, context)?;
    let mut outermost = Bitset::new(&context.budget, "class rows: outermost", facts.node_count as usize)?;
    let sizes = [facts.node_count * 4, facts.node_count * 8, facts.node_count * 8];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let mut class = room.lookup(columns::NODE_CLASS)?;
    let mut shallow = room.lookup(columns::NODE_SHALLOW)?;
    let mut retained = room.lookup(columns::NODE_RETAINED)?;
    let root_class = class.get(facts.root.index())?;
    let root_covers = shallow.get(facts.root.index())? > 0;
    let mut add = |node: NodeId, soon: Option<&NodeId>, place: u32, size: u32, reached: bool| {
        if let Some(soon) = soon {
            class.prefetch(soon.index());
            shallow.prefetch(soon.index());
            retained.prefetch(soon.index());
        }
        let class = class.get(node.index())?;
        let tally = &mut tallies[class.index()];
        let covered = if reached { place < tally.covered } else { root_covers && class == root_class };
        if !covered && counts(facts, node.0, shallow.get(node.index())?) {
            tally.covered = place + size;
            outermost.insert(node.index());
            let sum = &mut tally.row.retained_bytes;
            let more = retained.get(node.index())?;
            *sum = sum.checked_add(more).ok_or(StageError::Overflow("the size of a class"))?;
        }
        Ok::<(), StageError>(())
    };
    let mut by_place = ColumnReader::open(scratch, NODE_BY_PLACE)?;
    let mut size_by_place = ColumnReader::open(scratch, SIZE_BY_PLACE)?;
    let reached = by_place.remaining();
    let mut nodes = Vec::new();
    let mut place = 0;
    while by_place.remaining() > 0 {
        nodes.clear();
        by_place.append_to(&mut nodes, by_place.remaining().min(BATCH) as usize)?;
        for (at, &node) in nodes.iter().enumerate() {
            add(node, nodes.get(at + AHEAD), place, size_by_place.next()?, true)?;
            place += 1;
        }
        context.step(nodes.len() as u64)?;
    }
    // Nodes out of reach are leaves under the root, each for itself, or garbage.
    if reached < facts.node_count && !facts.keeps_garbage {
        let mut numbers = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
        for node in 0..facts.node_count as u32 {
            if numbers.next()?.is_none() {
                add(NodeId(node), None, reached as u32, 0, false)?;
            }
        }
    }
    spilled += room.spilled_bytes();
    let mut column = ColumnWriter::create(scratch, columns::NODE_OUTERMOST)?;
    (0..facts.node_count as usize).try_for_each(|node| column.push(u8::from(outermost.contains(node))))?;
    column.finish()?;
    scratch.discard(NODE_BY_PLACE);
    scratch.discard(SIZE_BY_PLACE);
    Ok(spilled)
}

/// Lays the dominator tree out in a preorder of its own: nodes by place, and the size of the subtree at each place.
/// Gives the bytes that were spilled.
///
/// A dominator comes before what it dominates in the graph's preorder. So one sweep backwards gives the sizes of the
/// subtrees, and one forwards hands every node the next free place inside its dominator's interval.
fn lay_out(scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let mut backwards = ReverseReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    let nodes = backwards.remaining();
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4; 4]);
    let mut size = room.array::<u32>(nodes as usize, 1)?;
    for position in (1..nodes as usize).rev() {
        let below = size.get(position)?;
        size.change(backwards.next()?.index(), |size| *size += below)?;
    }
    // The next free place inside the interval of each node; first the place of the node itself.
    let mut free = room.array::<u32>(nodes as usize, 0)?;
    let mut by_place = room.array(nodes as usize, NodeId(0))?;
    let mut size_by_place = room.array::<u32>(nodes as usize, 0)?;
    let mut dominators = ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    let mut order = ColumnReader::open(scratch, columns::PREORDER_NODE)?;
    for position in 0..nodes as usize {
        let (dominator, size) = (dominators.next()?, size.get(position)?);
        let place = if position == 0 {
            0
        } else {
            free.change(dominator.index(), |next| std::mem::replace(next, *next + size))?
        };
        free.set(position, place + 1)?;
        by_place.set(place as usize, order.next()?)?;
        size_by_place.set(place as usize, size)?;
        if position.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    by_place.write_to(scratch, NODE_BY_PLACE)?;
    size_by_place.write_to(scratch, SIZE_BY_PLACE)?;
    Ok(room.spilled_bytes())
}
