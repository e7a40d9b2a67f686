//! The links of the forest that finds semidominators. Used by [`super::dominators`].
//!
//! Resident memory: 8 bytes per node; or, of a [`CompactForest`], 4.2 bytes per node and 4 per node with several retainers,
//! which are about a third of a heap.

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

/// The links of nodes.
pub(crate) trait Links {
    /// The link of a node.
    fn link(&mut self, node: Preorder) -> Result<Link, Fault>;

    /// Links a node to its parent.
    fn add(&mut self, node: Preorder, link: Link) -> Result<(), Fault>;

    /// Shortens the path of a node. `best` is what holds for the node above, and then for this one. `near` is a node above
    /// from which on labels count.
    fn shorten(&mut self, node: Preorder, best: &mut Link, near: &mut Preorder) -> Result<(), Fault>;

    /// Prefetches the link of a node.
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

/// Links of which nodes with one retainer have no label.
///
/// That retainer is the parent, and so is the semidominator. As long as the parent is not linked it is the label, and the
/// ancestor as well. When it is linked, what holds for the parent holds for the node: a semidominator is less than its node,
/// so that of the parent is less than the parent. So its path is shortened up to the next node with several retainers only.
pub(crate) struct CompactForest {
    ancestors: Array<Preorder>,
    /// The labels of nodes with several retainers.
    labels: Array<Preorder>,
    several: Ranks,
}

impl CompactForest {
    /// No links yet, for so many nodes. One pass over the numbers of retainers.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn new(nodes: usize, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Self, StageError> {
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
