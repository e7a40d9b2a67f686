//! What a walk asks of a heap, its bounds, and its result.

use crate::StageError;

/// Nodes that a heap hears of before it is asked about them.
pub const SOON: usize = 32;

/// What a walk asks of a heap. Nodes are numbers.
pub trait Holders {
    /// The root of the essential edges.
    fn root(&self) -> u32;

    /// Appends the nodes with an essential edge to `node`, at most so many; some may occur more than once. Returns
    /// whether there are more.
    ///
    /// # Errors
    /// Those of reading.
    fn retainers(&mut self, node: u32, most: usize, out: &mut Vec<u32>) -> Result<bool, StageError>;

    /// Appends the labels of all essential edges from `holder` to each of `held`, which ascend. Returns the number of
    /// edges that were looked at.
    ///
    /// # Errors
    /// Those of reading.
    fn labels(&mut self, holder: u32, held: &[u32], out: &mut Vec<(u32, u32)>) -> Result<u64, StageError>;

    /// Says that the retainers of these nodes are asked for next, and what is told of the first of each: at most
    /// [`SOON`] nodes.
    ///
    /// # Errors
    /// Those of reading.
    fn before_retainers(&mut self, _nodes: &[u32]) -> Result<(), StageError> {
        Ok(())
    }

    /// Says that labels of edges from these nodes are asked for next: at most [`SOON`] nodes.
    ///
    /// # Errors
    /// Those of reading.
    fn before_labels(&mut self, _holders: &[u32]) -> Result<(), StageError> {
        Ok(())
    }

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

    /// The object that a node is a part of, as a backing store is of its array; nothing for what is an object itself.
    ///
    /// # Errors
    /// Those of reading.
    fn owner(&mut self, node: u32) -> Result<Option<u32>, StageError>;

    /// Whether each path from the root to `node` goes through `above`, which may be the node itself.
    ///
    /// # Errors
    /// Those of reading.
    fn dominates(&mut self, above: u32, node: u32) -> Result<bool, StageError>;

    /// Called now and then.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    fn check(&self) -> Result<(), StageError> {
        Ok(())
    }
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

    /// Bytes that a walk takes, at most: the pairs of a step in their several forms, what waits, and the holders that
    /// branches have passed, each of which is a unit of work.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        192 * self.pairs as u64 + 4 * self.work
    }
}

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
