//! Stage `class rows`: what each class weighs, nothing counted twice.
//!
//! * Computes: per class, over its nodes of non-zero shallow size: count, sums of sizes, least distance, largest
//!   retained size, and the sum of retained sizes over those nodes that no other one of them dominates.
//! * Reads: `preorder.{node,dominator}`, `node.{class,self,shallow,native,retained,distance,preorder}`.
//! * Writes: the document of class rows.
//! * Resident memory: 16 bytes per node (subtree sizes, free places, and by place the nodes and their sizes), then 8;
//!   some 100 bytes per class.
//! * Passes over disk: two over the tree, one over the node columns in order, one at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum leaves 64 bits.
//! * Determinism: one thread.
//! * Reference: Chrome DevTools, aggregates and their retained sizes. There a walk over the tree keeps a set of the
//!   classes on the path; here every subtree is an interval of the tree's preorder, so one number per class, the end of
//!   its outermost open interval, says the same without a stack.

use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE, documents};

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "class rows", version: 1, bytes_per_node: 16, bytes_per_edge: 0, bytes_fixed: 8 << 20 };

/// A class on the way to its row.
#[derive(Clone, Default)]
struct Tally {
    row: ClassRow,
    /// Whether a member has no distance.
    astray: bool,
    /// End, in the tree's preorder, of the subtree of a member that is counted already.
    covered: u32,
}

/// Writes the rows of all classes that have a node of non-zero shallow size, by retained size, largest first, equals by
/// class.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(facts: &Facts, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    context.progress.begin(STAGE.name, 2 * facts.node_count);
    let classes = facts.class_count as usize;
    let _tallies = context.budget.reserve("class rows", (classes * size_of::<Tally>()) as u64)?;
    let mut tallies = vec![Tally::default(); classes];
    add_up(facts, &mut tallies, scratch, context)?;
    retained(facts, &mut tallies, scratch, context)?;
    let mut rows: Vec<ClassRow> = tallies
        .into_iter()
        .enumerate()
        .filter(|(_, tally)| tally.row.count > 0)
        .map(|(class, tally)| ClassRow {
            class_id: class as u32,
            distance: tally.row.distance.filter(|_| !tally.astray),
            ..tally.row
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.retained_bytes), row.class_id));
    scratch.write_document(documents::CLASS_ROWS, &rows)?;
    context.progress.end();
    Ok(Stats { rows: rows.len() as u64, spilled_bytes: 0 })
}

/// Sums over all members.
fn add_up(facts: &Facts, tallies: &mut [Tally], scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut self_bytes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut native = if facts.has_native { Some(ColumnReader::open(scratch, columns::NODE_NATIVE)?) } else { None };
    for node in 0..facts.node_count {
        let tally = &mut tallies[class.next()?.index()];
        let (own, size, held, far) = (self_bytes.next()?, shallow.next()?, retained.next()?, distance.next()?);
        let native = native.as_mut().map_or(Ok(0), ColumnReader::next)?;
        if size > 0 {
            let row = &mut tally.row;
            row.count += 1;
            for (sum, bytes) in
                [(&mut row.self_bytes, own), (&mut row.shallow_bytes, size), (&mut row.native_bytes, native)]
            {
                *sum = sum.checked_add(bytes).ok_or(StageError::Overflow("the size of a class"))?;
            }
            row.max_retained_bytes = row.max_retained_bytes.max(held);
            // DevTools' mark for "no distance" is below every distance and so wins; here that is no distance at all.
            tally.astray |= far == NO_DISTANCE;
            row.distance = Some(row.distance.map_or(far, |least| least.min(far)));
        }
        if node % (1 << 16) == 0 && node > 0 {
            context.step(1 << 16)?;
        }
    }
    Ok(())
}

/// Retained sizes of members that no other member dominates.
fn retained(facts: &Facts, tallies: &mut [Tally], scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let (by_place, sizes) = lay_out(scratch, context)?;
    let class = ColumnMap::open(scratch, columns::NODE_CLASS, None)?;
    let shallow = ColumnMap::open(scratch, columns::NODE_SHALLOW, None)?;
    let retained = ColumnMap::open(scratch, columns::NODE_RETAINED, None)?;
    let mut add = |node: NodeId, place: u32, size: u32| {
        let tally = &mut tallies[class[node.index()].index()];
        if shallow[node.index()] > 0 && place >= tally.covered {
            tally.covered = place + size;
            let sum = &mut tally.row.retained_bytes;
            *sum = sum.checked_add(retained[node.index()]).ok_or(StageError::Overflow("the size of a class"))?;
        }
        Ok::<(), StageError>(())
    };
    for (place, (&node, &size)) in by_place.iter().zip(sizes.iter()).enumerate() {
        add(node, place as u32, size)?;
        if place % (1 << 16) == 0 && place > 0 {
            context.step(1 << 16)?;
        }
    }
    // Nodes out of reach are leaves under the root: behind all others, each for itself.
    if (by_place.len() as u64) < facts.node_count {
        let root_class = class[facts.root.index()];
        let root_covers = shallow[facts.root.index()] > 0;
        let numbers = ColumnMap::open(scratch, columns::NODE_PREORDER, None)?;
        for (node, _) in numbers.iter().enumerate().filter(|(_, number)| number.is_none()) {
            if !(root_covers && class[node] == root_class) {
                add(NodeId(node as u32), by_place.len() as u32, 0)?;
            }
        }
    }
    Ok(())
}

/// The dominator tree in a preorder of its own: nodes by place, and the size of the subtree at each place.
///
/// A dominator comes before what it dominates in the graph's preorder. So one sweep backwards gives the sizes of the
/// subtrees, and one forwards hands every node the next free place inside its dominator's interval.
fn lay_out(scratch: &Scratch, context: &Context<'_>) -> Result<(BudgetVec<NodeId>, BudgetVec<u32>), StageError> {
    let dominator = ColumnMap::open(scratch, columns::PREORDER_DOMINATOR, None)?;
    let nodes = dominator.len();
    let mut size = context.budget.filled("class rows: subtree sizes", nodes, 1u32)?;
    for position in (1..nodes).rev() {
        size[dominator[position].index()] += size[position];
    }
    // The next free place inside the interval of each node; first the place of the node itself.
    let mut free = context.budget.zeroed::<u32>("class rows: places", nodes)?;
    let mut by_place = context.budget.zeroed::<NodeId>("class rows: nodes by place", nodes)?;
    let mut size_by_place = context.budget.zeroed::<u32>("class rows: sizes by place", nodes)?;
    let mut order = ColumnReader::open(scratch, columns::PREORDER_NODE)?;
    for position in 0..nodes {
        let place = if position == 0 {
            0
        } else {
            let next = &mut free[dominator[position].index()];
            let place = *next;
            *next += size[position];
            place
        };
        free[position] = place + 1;
        by_place[place as usize] = order.next()?;
        size_by_place[place as usize] = size[position];
    }
    Ok((by_place, size_by_place))
}
