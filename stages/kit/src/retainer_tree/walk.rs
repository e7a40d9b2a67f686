//! What a walk asks of a heap, its bounds, and its result.

use crate::StageError;

/// Nodes that a heap hears of before it is asked about them.
pub const SOON: usize = 32;

/// What a walk asks of a heap. Nodes are numbers. Questions come in batches, in the order of nodes, so that a heap which is
/// on disk is read from the beginning to the end, not here and there.
pub trait Holders {
    /// The root of the essential edges.
    fn root(&self) -> u32;

    /// Appends for each of these nodes, which ascend and may repeat, where its retainers are.
    ///
    /// # Errors
    /// Those of reading.
    fn places(&mut self, nodes: &[u32], out: &mut Vec<Place>) -> Result<(), StageError>;

    /// Appends what is asked for: of each place the first retainers, as many as its count says, by place and node, each
    /// once.
    ///
    /// # Errors
    /// Those of reading.
    fn retainers(&mut self, asked: &[Place], out: &mut Vec<Retainer>) -> Result<(), StageError>;

    /// Appends the answer to each question.
    ///
    /// # Errors
    /// Those of reading.
    fn dominates(&mut self, asked: &[Dominates], out: &mut Vec<bool>) -> Result<(), StageError>;

    /// Says that labels of edges from these nodes are asked for next: at most [`SOON`] nodes, which ascend.
    ///
    /// # Errors
    /// Those of reading.
    fn before_labels(&mut self, _holders: &[u32]) -> Result<(), StageError> {
        Ok(())
    }

    /// Appends the labels of all essential edges from `holder` to each of `held`, which ascend. Returns the number of
    /// edges that were looked at.
    ///
    /// # Errors
    /// Those of reading.
    fn labels(&mut self, holder: u32, held: &[u32], out: &mut Vec<(u32, u32)>) -> Result<u64, StageError>;

    /// Class of a node.
    ///
    /// # Errors
    /// Those of reading.
    fn class(&mut self, node: u32) -> Result<u32, StageError>;

    /// Distance of a node from the root; `i32::MAX` where no search reached it.
    ///
    /// # Errors
    /// Those of reading.
    fn distance(&mut self, node: u32) -> Result<i32, StageError>;

    /// Called now and then.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    fn check(&self) -> Result<(), StageError> {
        Ok(())
    }
}

/// Where the retainers of a node are.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// What the heap finds them by.
    pub start: u64,
    /// How many there are; some may be the same.
    pub count: u32,
    /// What the heap knows the node by when it is asked whether it dominates.
    pub position: u32,
    /// Distance of the node, as of [`Holders::distance`].
    pub distance: i32,
}

/// A node with an essential edge to one that was asked about.
#[derive(Clone, Copy, Debug)]
pub struct Retainer {
    /// Position of what it holds among what was asked.
    pub asked: u32,
    /// Its number.
    pub node: u32,
    /// As of [`Place`].
    pub position: u32,
    /// Its distance, as of [`Holders::distance`].
    pub distance: i32,
    /// The object that it is a part of, as a backing store is of its array; `u32::MAX` for what is an object itself.
    pub owner: u32,
}

/// Whether each path from the root to `node` goes through `above`, which may be the node itself. Both are positions, as of
/// [`Place`] and [`Retainer`].
#[derive(Clone, Copy, Debug)]
pub struct Dominates {
    /// See above.
    pub above: u32,
    /// See above.
    pub node: u32,
}

/// Bounds of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Levels in which retainers that are no nearer are followed.
    pub any_level: u32,
    /// Levels of a tree.
    pub depth: u32,
    /// Branches of a tree that are walked further.
    pub branches: usize,
    /// Branches behind one, beside the rest.
    pub kept: usize,
    /// Labels of one class that stay apart behind a branch; others become any label.
    pub names: usize,
    /// One in so many instances, or of their retained bytes, makes a branch worth a row.
    pub light: u64,
    /// Pairs of a holder and an item in a step, and in all branches that wait.
    pub pairs: usize,
    /// Retainers of a node that are looked at.
    pub retainers: usize,
    /// Units of work of a tree: edges looked at, and pairs.
    pub work: u64,
    /// Whether a walk comes back to instances.
    pub may_return: bool,
}

impl Limits {
    /// Those of the walk from the instances of a class.
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

    /// Those of the walk from one object.
    pub const OF_AN_OBJECT: Self =
        Self { light: 1, may_return: false, retainers: 1 << 18, pairs: 1 << 17, work: 1 << 20, ..Self::OF_A_CLASS };

    /// Bytes that the walk of one tree takes, at most: what waits and what of a step is kept while other trees take theirs,
    /// for each pair, and the holders that branches have passed, each of which is a unit of work.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        128 * self.pairs as u64 + 4 * self.work
    }
}

/// How much is walked at a time. It changes how often the heap is read, and no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Trees that grow side by side, at least 1.
    pub trees: usize,
    /// Retainers that are looked at together. Those of one node are looked at together in any case.
    pub retainers: usize,
}

impl Batch {
    /// The least that is of use.
    pub const LEAST: Self = Self { trees: 1, retainers: 1 << 16 };

    /// Bytes that walks with these limits take, at most: those of each tree, of the pairs of one step in their several forms,
    /// and of retainers and what is asked about them.
    #[must_use]
    pub const fn bytes(&self, limits: &Limits) -> u64 {
        self.trees as u64 * limits.bytes() + 96 * limits.pairs as u64 + OF_A_RETAINER * self.retainers as u64
    }

    /// The largest for these trees within so many bytes, or the least.
    #[must_use]
    pub fn within(bytes: u64, trees: usize, limits: &Limits) -> Self {
        let more = bytes.saturating_sub(Self::LEAST.bytes(limits));
        // An eighth of it for retainers: a step of many trees has no more than a few million of them.
        let retainers = (more / 8 / OF_A_RETAINER).min(MOST_RETAINERS);
        let trees = ((more - more / 8) / limits.bytes()).min(trees.saturating_sub(1) as u64);
        Self { trees: Self::LEAST.trees + trees as usize, retainers: Self::LEAST.retainers + retainers as usize }
    }
}

/// Bytes of a retainer that is looked at: it, and questions about it.
const OF_A_RETAINER: u64 = 64;
/// Retainers that are looked at together, at most.
const MOST_RETAINERS: u64 = 1 << 21;

/// An object from which a walk begins. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Number of its node.
    pub node: u32,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size; 0 where it is within another instance.
    pub retained_bytes: u64,
}

/// Instances, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Instances.
    pub count: u64,
    /// Sum of shallow sizes.
    pub shallow_bytes: u64,
    /// Sum of retained sizes, nothing counted twice.
    pub retained_bytes: u64,
}

impl Amount {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.shallow_bytes = self.shallow_bytes.saturating_add(other.shallow_bytes);
        self.retained_bytes = self.retained_bytes.saturating_add(other.retained_bytes);
    }
}

/// What a branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Holders of one class, by edges of one label or of any.
    Holder,
    /// The root.
    Root,
    /// All that is too light for rows of its own.
    Rest,
}

/// A branch of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Position of the branch that is one level nearer to the instances.
    pub parent: Option<usize>,
    /// 1 for what holds instances directly.
    pub level: u32,
    /// What it is.
    pub kind: Kind,
    /// Class of the holders; of the rest that of the first.
    pub class: u32,
    /// Label of their edges, as in [`label`](heaplake_schemas::chains::label).
    pub label: u32,
    /// How many pairs of class and label it has.
    pub merged: u64,
    /// Distinct holders.
    pub holders: u64,
    /// The holder that is nearest to the root, the first of equals, and its distance.
    pub example: u32,
    /// See above.
    pub distance: i32,
    /// The instances that are held through it.
    pub held: Amount,
    /// Those of them that nothing else of the tree holds: all that holds them goes through this branch.
    pub exclusive: Amount,
    /// Whether a limit stopped the walk here, or not all was looked at.
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
