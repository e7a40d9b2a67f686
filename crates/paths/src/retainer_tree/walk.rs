//! Queries of a walk to the heap, its limits, and its result.

use heaplake_kit::StageError;

/// Maximum nodes announced before their labels are requested.
pub const SOON: usize = 32;

/// Queries of a walk to the heap. Nodes are numbers. Queries come in batches, in node order, so that a heap on disk is
/// read sequentially.
pub trait Holders {
    /// The root of the essential edges.
    fn root(&self) -> u32;

    /// Appends the location of the retainers of each node. Nodes ascend and may repeat.
    fn places(&mut self, nodes: &[u32], out: &mut Vec<Place>) -> Result<(), StageError>;

    /// Appends the first `count` retainers of each place, by place and node, without duplicates.
    fn retainers(&mut self, asked: &[Place], out: &mut Vec<Retainer>) -> Result<(), StageError>;

    /// Appends the answer to each query.
    fn dominates(&mut self, asked: &[Dominates], out: &mut Vec<bool>) -> Result<(), StageError>;

    /// Announces that labels of edges from these nodes are requested next: at most [`SOON`] nodes, ascending.
    fn before_labels(&mut self, _holders: &[u32]) -> Result<(), StageError> {
        Ok(())
    }

    /// Appends the labels of all essential edges from `holder` to each of `held`, which ascend. Returns the number of
    /// edges examined.
    fn labels(&mut self, holder: u32, held: &[u32], out: &mut Vec<(u32, u32)>) -> Result<u64, StageError>;

    /// Returns the class of a node.
    fn class(&mut self, node: u32) -> Result<u32, StageError>;

    /// Returns the distance of a node from the root; `i32::MAX` if unreachable.
    fn distance(&mut self, node: u32) -> Result<i32, StageError>;

    /// Called periodically, to check for cancellation.
    fn check(&self) -> Result<(), StageError> {
        Ok(())
    }
}

/// Location of the retainers of a node.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Start position in the heap's storage.
    pub start: u64,
    /// Number of retainers; may include duplicates.
    pub count: u32,
    /// The node's position for dominance queries.
    pub position: u32,
    /// Distance of the node, see [`Holders::distance`].
    pub distance: i32,
}

/// A node with an essential edge to a queried node.
#[derive(Clone, Copy, Debug)]
pub struct Retainer {
    /// Index of the queried node.
    pub asked: u32,
    /// Its number.
    pub node: u32,
    /// Position, see [`Place`].
    pub position: u32,
    /// Distance, see [`Holders::distance`].
    pub distance: i32,
    /// The object that it is a part of (a backing store of its array); `u32::MAX` for an object.
    pub owner: u32,
}

/// Query: does `above` dominate `node`? Reflexive. Both are positions, see [`Place`] and [`Retainer`].
#[derive(Clone, Copy, Debug)]
pub struct Dominates {
    /// The possible dominator.
    pub above: u32,
    /// The possibly dominated node.
    pub node: u32,
}

/// Limits of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Levels in which retainers that are no nearer to the root are followed.
    pub any_level: u32,
    /// Maximum levels of a tree.
    pub depth: u32,
    /// Branches of a tree to expand.
    pub branches: usize,
    /// Branches above one branch, besides the rest.
    pub kept: usize,
    /// Labels per class above one branch; others are merged into any label.
    pub names: usize,
    /// A branch gets a row from 1/`light` of the instances or of their retained bytes on.
    pub light: u64,
    /// Pairs of retainer and item in a step, and in all queued branches.
    pub pairs: usize,
    /// Examined retainers per node.
    pub retainers: usize,
    /// Units of work per tree: edges examined, and pairs.
    pub work: u64,
    /// True if the walk may return to instances.
    pub may_return: bool,
}

impl Limits {
    /// Limits of the walk from the instances of a class.
    pub const OF_A_CLASS: Self = Self {
        any_level: 3,
        depth: 32,
        branches: 40,
        kept: 8,
        names: 4,
        light: 20,
        pairs: 1 << 16,
        retainers: 1 << 12,
        work: 1 << 18,
        may_return: true,
    };

    /// Limits of the walk from one object.
    pub const OF_AN_OBJECT: Self =
        Self { light: 1, may_return: false, retainers: 1 << 18, pairs: 1 << 17, work: 1 << 20, ..Self::OF_A_CLASS };

    /// Maximum memory of the walk of one tree, bytes: the queue and the current step, per pair, and visited retainers,
    /// each a unit of work.
    pub const fn bytes(&self) -> u64 {
        128 * self.pairs as u64 + 4 * self.work
    }
}

/// Batch size of a walk. Affects how often the heap is read, never the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Trees grown together, at least 1.
    pub trees: usize,
    /// Retainers examined together. Those of one node are always examined together.
    pub retainers: usize,
}

impl Batch {
    /// The smallest useful batch.
    pub const LEAST: Self = Self { trees: 1, retainers: 1 << 16 };

    /// Maximum memory of walks with these limits, bytes: the trees, the pairs of one step in their several forms, and
    /// retainers with queries about them.
    pub const fn bytes(&self, limits: &Limits) -> u64 {
        self.trees as u64 * limits.bytes() + 96 * limits.pairs as u64 + OF_A_RETAINER * self.retainers as u64
    }

    /// Returns the largest batch for these trees within `bytes`, at least [`Self::LEAST`].
    pub fn within(bytes: u64, trees: usize, limits: &Limits) -> Self {
        let more = bytes.saturating_sub(Self::LEAST.bytes(limits));
        // An eighth for retainers: a step of many trees has a few million at most.
        let retainers = (more / 8 / OF_A_RETAINER).min(MOST_RETAINERS);
        let trees = ((more - more / 8) / limits.bytes()).min(trees.saturating_sub(1) as u64);
        Self { trees: Self::LEAST.trees + trees as usize, retainers: Self::LEAST.retainers + retainers as usize }
    }
}

/// Bytes per examined retainer, with queries about it.
const OF_A_RETAINER: u64 = 64;
/// Maximum retainers examined together.
const MOST_RETAINERS: u64 = 1 << 21;

/// An object at which a walk begins. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its node.
    pub node: u32,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size; 0 if within another instance.
    pub retained_bytes: u64,
}

/// Number and bytes of instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of instances.
    pub count: u64,
    /// Sum of shallow sizes.
    pub shallow_bytes: u64,
    /// Sum of retained sizes, without double counting.
    pub retained_bytes: u64,
}

impl Amount {
    /// Adds another amount.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.shallow_bytes = self.shallow_bytes.saturating_add(other.shallow_bytes);
        self.retained_bytes = self.retained_bytes.saturating_add(other.retained_bytes);
    }
}

/// Kind of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Retainers of one class, through edges of one label or of any.
    Holder,
    /// The root.
    Root,
    /// Everything too light for rows of its own.
    Rest,
}

/// A branch of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Position of the branch one level nearer to the instances.
    pub parent: Option<usize>,
    /// 1 for direct retainers of instances.
    pub level: u32,
    /// Kind of the branch.
    pub kind: Kind,
    /// Class of the retainers; for the rest, that of the first.
    pub class: u32,
    /// Label of their edges, as in [`label`](heaplake_schemas::chains::label).
    pub label: u32,
    /// Number of merged pairs of class and label.
    pub merged: u64,
    /// Number of distinct retainers.
    pub holders: u64,
    /// The retainer nearest to the root, lowest number first.
    pub example: u32,
    /// Distance of the nearest retainer.
    pub distance: i32,
    /// Instances retained through the branch.
    pub held: Amount,
    /// Instances retained through this branch only.
    pub exclusive: Amount,
    /// True if a limit stopped the walk here, or some retainers were not examined.
    pub is_cut: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_no_more_than_it_is_given_unless_that_is_less_than_the_least() {
        let limits = Limits::OF_A_CLASS;
        let least = Batch::LEAST.bytes(&limits);
        assert_eq!(Batch::within(0, 64, &limits), Batch::LEAST);
        let mut before = Batch::LEAST;
        for bytes in (0..1 << 30).step_by(3 << 20) {
            let batch = Batch::within(least + bytes, 64, &limits);
            assert!(batch.bytes(&limits) <= least + bytes);
            assert!(batch.trees >= before.trees && batch.retainers >= before.retainers && batch.trees <= 64);
            before = batch;
        }
        assert_eq!(before.trees, 64);
        assert_eq!(Batch::within(1 << 40, 0, &limits).trees, 1);
    }
}
