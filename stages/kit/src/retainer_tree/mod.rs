//! Merged trees of all holders of some objects.
//!
//! A shortest path names one holder of an object; who lets go there has freed nothing if another one holds it as well.
//! [`grow`] walks upward from the objects (the *instances*) to all that holds them, and merges what it meets by class
//! of the holder and label of the edge. Each *branch* is a path of such pairs, from the instances up, with the distinct
//! instances that are held through it.
//!
//! # Which retainers are followed
//!
//! A heap has rings: nearly every object of a program is reachable from nearly every other one, by way of its hidden
//! class, its class loader or a parent pointer. So a walk needs an order.
//!
//! - A retainer that is **nearer** to the root than what it holds is followed, always.
//! - In the first [`Limits::any_level`] levels a retainer that is as near or **farther** is followed, too, unless what it
//!   holds dominates it: if it does, the retainer lives on the object and does not keep it. Of objects in a map and in a
//!   plain object, the one has a table in between and is no nearer than the objects are; it holds them all the same.
//!   Further up only nearer ones are: what is there is shared by all, and its other holders are most of the program.
//! - A node at distance 1 or less is where people's roots begin. It has no holder but the root.
//! - The **root** ends a branch. A node that no essential edge enters (an orphan) is held by the root, by an edge
//!   `(no path)`.
//! - A part of the runtime (a backing store) is left out where the object that it is a part of holds the same by an edge of
//!   its own: some formats state a reference once with the object and once more with its part.
//! - A holder that a branch has passed is not passed again.
//!
//! # Exact counts in little memory
//!
//! A branch carries pairs of a holder and an *item*. At first each instance is an item. Instances that have the same
//! holders in a branch have the same fate above, so they become one item with their sums: as soon as a thousand
//! instances meet in one table, the walk goes on with one pair. Counts are of distinct instances, not of paths.
//!
//! Work and memory are bounded by [`Limits`], which do not depend on the budget, so that results do not either. A branch
//! that a limit has stopped, or whose holders were not all looked at, says so.

mod fold;
mod step;
pub mod text;

use crate::StageError;
use std::collections::VecDeque;
use std::rc::Rc;
use step::{Growing, Passed, Step};

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
        pairs: 1 << 17,
        retainers: 1 << 12,
        work: 1 << 20,
        may_return: true,
    };

    /// Those of the walk from one object.
    pub const OF_AN_OBJECT: Self = Self { light: 1, may_return: false, retainers: 1 << 18, ..Self::OF_A_CLASS };

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

/// The tree of all holders of these instances, depth first.
///
/// # Errors
/// Those of the heap.
pub fn grow(heap: &mut impl Holders, instances: &[Instance], limits: &Limits) -> Result<Vec<Branch>, StageError> {
    let mut branches: Vec<Branch> = Vec::new();
    let mut waiting = VecDeque::from([Growing::seed(instances, limits)]);
    let (mut work, mut pairs, mut walked) = (0, 0, 0);
    while let Some(growing) = waiting.pop_front() {
        heap.check()?;
        pairs -= growing.waiting();
        let at = growing.branch;
        if work >= limits.work || walked > limits.branches {
            at.iter().for_each(|&at| branches[at].is_cut = true);
            continue;
        }
        walked += 1;
        let Step { children, is_cut, cost } = step::expand(heap, &growing, limits)?;
        work += cost;
        at.iter().for_each(|&at| branches[at].is_cut |= is_cut);
        for (mut branch, child) in children {
            // Where not all holders of the instances were looked at, their branches say so.
            branch.is_cut |= is_cut && at.is_none();
            let place = branches.len();
            if let Some(mut child) = child {
                if branch.level >= limits.depth || pairs + child.pairs.len() > limits.pairs {
                    branch.is_cut = true;
                } else {
                    child.branch = Some(place);
                    pairs += child.waiting();
                    waiting.push_back(child);
                }
            }
            branches.push(branch);
        }
    }
    Ok(depth_first(&branches))
}

/// The branches, each before those behind it, in the order in which they were found.
fn depth_first(branches: &[Branch]) -> Vec<Branch> {
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); branches.len() + 1];
    for (at, branch) in branches.iter().enumerate() {
        behind[branch.parent.unwrap_or(branches.len())].push(at);
    }
    let mut order = Vec::with_capacity(branches.len());
    let mut stack: Vec<(usize, Option<usize>)> = behind[branches.len()].iter().rev().map(|&at| (at, None)).collect();
    while let Some((at, parent)) = stack.pop() {
        stack.extend(behind[at].iter().rev().map(|&child| (child, Some(order.len()))));
        order.push(Branch { parent, ..branches[at] });
    }
    order
}

impl Growing {
    fn seed(instances: &[Instance], limits: &Limits) -> Self {
        let mut nodes: Vec<u32> = instances.iter().map(|instance| instance.node).collect();
        nodes.sort_unstable();
        let amount = |instance: &Instance| Amount {
            count: 1,
            shallow_bytes: instance.shallow_bytes,
            retained_bytes: instance.retained_bytes,
        };
        let pairs = instances.iter().enumerate().map(|(item, instance)| (item as u32, instance.node)).collect();
        let mut all = Amount::default();
        instances.iter().for_each(|instance| all.add(&amount(instance)));
        let passed = (!limits.may_return).then(|| Rc::new(Passed { nodes: nodes.clone(), before: None }));
        let items = instances.iter().map(|instance| (amount(instance), true)).collect();
        Self { branch: None, level: 0, nodes, passed, pairs, items, all }
    }
}
