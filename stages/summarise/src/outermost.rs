//! Stage `outermost`: the nodes that no other node of their class dominates.
//!
//! * Computes: for every node that counts for its class whether it is the outermost one of that class on its path in
//!   the dominator tree. The retained sizes of these nodes add up to that of their class, without double counting.
//! * Resident memory: 8 bytes per node for the layout of the dominator tree (node, and size of its subtree), beside it
//!   4 (subtree sizes, then free places; after that, classes), paged where the budget does not allow it; two bits per
//!   node (counted nodes, outermost nodes); 4 bytes per class.
//! * Passes over disk: two over the tree, two over node columns in order, one over the classes at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread.
//! * Reference: Chrome DevTools, retained sizes of aggregates. DevTools walks the tree with a set of the classes on the
//!   path. Here every subtree is an interval of the tree's preorder, so one number per class, the end of its outermost
//!   open interval, replaces that set.

use crate::class_rows::counts;
use crate::dominator_tree;
use heaplake_kit::access::{bits_per_node, column, document, per_node};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, BudgetVec, ColumnReader, ColumnWriter, Job, ReadAt, Stage, StageError, Stats, WriteAt,
    on_resident,
};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::scratch::{self as columns, Metadata, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "outermost",
    reads: &[
        document(documents::METADATA),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::CLASS_NAME),
        column(columns::NODE_CLASS),
        column(columns::NODE_SHALLOW),
    ],
    writes: &[column(columns::NODE_OUTERMOST)],
    arrays: &[&[per_node::<[u32; 2]>(), per_node::<u32>()], &[per_node::<[u32; 2]>(), per_node::<ClassId>()]],
    least: &[bits_per_node(2)],
    fixed: 8 << 20,
    passes: "dominator tree twice, node columns twice",
    run,
    ..Stage::NEW
};

/// A node's class is prefetched this many nodes ahead.
const AHEAD: usize = 16;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, metadata.node_count);
    let members = &members(metadata, job)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut layout = lay_out(&mut plan, job)?;
    let covered = context.budget.zeroed("outermost: covered", job.class_count()?)?;
    let mut outermost = Bitset::new(&context.budget, "outermost: nodes", metadata.node_count as usize)?;
    let mut class = plan.one(lookup(columns::NODE_CLASS))?;
    on_resident!(layout, class => {
        Outermost { metadata, members, covered, outermost: &mut outermost, class }.find(layout, job)
    })?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_OUTERMOST)?;
    for node in 0..metadata.node_count as usize {
        column.push(u8::from(outermost.contains(node)))?;
    }
    context.progress.end();
    Ok(Stats { rows: column.finish()?, spilled_bytes: plan.spilled_bytes() })
}

/// Returns the nodes that count for their class.
fn members(metadata: &Metadata, job: &Job<'_>) -> Result<Bitset, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut members = Bitset::new(&context.budget, "outermost: members", metadata.node_count as usize)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let preorder = metadata.keeps_garbage.then(|| ColumnReader::open(scratch, columns::NODE_PREORDER));
    let mut preorder = preorder.transpose()?;
    for first in (0..metadata.node_count as usize).step_by(BLOCK) {
        let count = BLOCK.min(metadata.node_count as usize - first);
        let sizes = shallow.block(count)?;
        let order = preorder.as_mut().map(|order| order.block(count)).transpose()?;
        for (at, &size) in sizes.iter().enumerate() {
            let is_garbage = order.is_some_and(|order| order[at].is_none());
            if counts(metadata, (first + at) as u32, size) && !is_garbage {
                members.insert(first + at);
            }
        }
        context.check()?;
    }
    Ok(members)
}

/// Finds the members that no other member of their class dominates.
struct Outermost<'a, C> {
    metadata: &'a Metadata,
    members: &'a Bitset,
    /// For each class the end, in the tree's preorder, of the subtree of a counted member.
    covered: BudgetVec<u32>,
    outermost: &'a mut Bitset,
    class: C,
}

impl<C: ReadAt<ClassId>> Outermost<'_, C> {
    /// Visits the nodes in the order of the layout.
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
            job.context.step_every(1 << 16, place)?;
        }
        // Unreached nodes are leaves under the root, or garbage.
        if reached < self.metadata.node_count as usize && !self.metadata.keeps_garbage {
            self.find_unreached(reached as u32, job)?;
        }
        Ok(())
    }

    fn find_unreached(&mut self, end: u32, job: &Job<'_>) -> Result<(), StageError> {
        let root = self.metadata.root.index();
        let root_class = self.class.get(root)?;
        let root_covers = self.members.contains(root);
        let mut numbers = ColumnReader::open(job.scratch, columns::NODE_PREORDER)?;
        for node in 0..self.metadata.node_count as u32 {
            if numbers.next()?.is_none() {
                let class = self.class.get(node as usize)?;
                if !root_covers || class != root_class {
                    self.add(NodeId(node), class, end);
                }
            }
        }
        Ok(())
    }

    /// Adds a node that no member of its class dominates, if it is a member; `end` is the end of its subtree.
    #[inline]
    fn add(&mut self, node: NodeId, class: ClassId, end: u32) {
        if self.members.contains(node.index()) {
            self.covered[class.index()] = end;
            self.outermost.insert(node.index());
        }
    }
}

/// Returns the node at each place of a preorder of the dominator tree, and the size of its subtree.
fn lay_out(plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Array<[u32; 2]>, StageError> {
    let nodes = ColumnReader::open(job.scratch, columns::PREORDER_DOMINATOR)?.remaining() as usize;
    let (mut layout, mut tree) = plan.make((filled(nodes, [0u32; 2]), filled(nodes, 1u32)))?;
    let mut order = ColumnReader::<NodeId>::open(job.scratch, columns::PREORDER_NODE)?;
    on_resident!(layout, tree => {
        dominator_tree::lay_out(tree, |_, place, size| Ok(layout.set(place as usize, [order.next()?.0, size])?), job)
    })?;
    Ok(layout)
}
