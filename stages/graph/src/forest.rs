//! The links of the forest that finds semidominators. Used by [`super::dominators`].
//!
//! Resident memory: 8 bytes per node; for a [`CompactForest`], 4.2 bytes per node and 4 per node with several
//! retainers, about a third of a heap.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, Bitset, ColumnReader, Job, Ranks, ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch as columns;

/// Ancestor and label of a node, stored together because they are accessed together. In the second step: jump pointer
/// and depth in the tree.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Link {
    /// The parent, or an ancestor further up after path compression.
    pub ancestor: Preorder,
    /// The node with the least semidominator on the path up to the ancestor, which is excluded.
    pub label: Preorder,
}

pub(crate) trait Links {
    fn link(&mut self, node: Preorder) -> Result<Link, Fault>;

    /// Links a node to its parent.
    fn add(&mut self, node: Preorder, link: Link) -> Result<(), Fault>;

    /// Shortens the path of a node. `best` is the link of the node above, and becomes that of this node. `near` is the
    /// nearest node above with a label.
    fn shorten(&mut self, node: Preorder, best: &mut Link, near: &mut Preorder) -> Result<(), Fault>;

    fn prefetch(&self, node: Preorder);
}

impl<A: WriteAt<Link>> Links for A {
    #[inline]
    fn link(&mut self, node: Preorder) -> Result<Link, Fault> {
        self.get(node.index())
    }

    #[inline]
    fn add(&mut self, node: Preorder, link: Link) -> Result<(), Fault> {
        self.set(node.index(), link)
    }

    #[inline]
    fn shorten(&mut self, node: Preorder, best: &mut Link, _near: &mut Preorder) -> Result<(), Fault> {
        best.label = best.label.min(self.get(node.index())?.label);
        self.set(node.index(), *best)
    }

    #[inline]
    fn prefetch(&self, node: Preorder) {
        ReadAt::prefetch(self, node.index());
    }
}

/// Links without labels for nodes with one retainer.
///
/// That retainer is the parent, and so is the semidominator. Until the parent is linked, the parent is label and
/// ancestor. After that, the node takes the label of its parent: a semidominator is less than its node, so that of the
/// parent is less than the parent. So the path of such a node is shortened only up to the next node with several
/// retainers.
pub(crate) struct CompactForest {
    ancestors: Array<Preorder>,
    /// The labels of nodes with several retainers.
    labels: Array<Preorder>,
    several: Ranks,
}

impl CompactForest {
    /// Returns a forest of `nodes` unlinked nodes. One pass over the numbers of retainers.
    pub(crate) fn new(nodes: usize, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Self, StageError> {
        let budget = &job.context.budget;
        let mut several = Bitset::new(budget, "dominators: several retainers", nodes)?;
        let mut degrees = ColumnReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
        for node in (1..nodes).rev() {
            if degrees.next()? != 1 {
                several.insert(node);
            }
        }
        let several = several.ranked(budget, "dominators: several retainers")?;
        let (ancestors, labels) =
            plan.make((filled(nodes, Preorder(0)), filled(several.count().max(1), Preorder(0))))?;
        Ok(Self { ancestors, labels, several })
    }
}

impl Links for CompactForest {
    #[inline]
    fn link(&mut self, node: Preorder) -> Result<Link, Fault> {
        let ancestor = self.ancestors.get(node.index())?;
        let label = self.several.rank(node.index()).map_or(Ok(ancestor), |rank| self.labels.get(rank))?;
        Ok(Link { ancestor, label })
    }

    #[inline]
    fn add(&mut self, node: Preorder, Link { ancestor, label }: Link) -> Result<(), Fault> {
        self.ancestors.set(node.index(), ancestor)?;
        self.several.rank(node.index()).map_or(Ok(()), |rank| self.labels.set(rank, label))
    }

    #[inline]
    fn shorten(&mut self, node: Preorder, best: &mut Link, near: &mut Preorder) -> Result<(), Fault> {
        let Some(rank) = self.several.rank(node.index()) else {
            return self.ancestors.set(node.index(), *near);
        };
        best.label = best.label.min(self.labels.get(rank)?);
        self.labels.set(rank, best.label)?;
        *near = node;
        self.ancestors.set(node.index(), best.ancestor)
    }

    fn prefetch(&self, node: Preorder) {
        self.ancestors.prefetch(node.index());
    }
}
