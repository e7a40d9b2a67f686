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
mod growing;
mod step;
pub mod text;
mod walk;

pub use walk::{Amount, Branch, Holders, Instance, Kind, Limits, SOON};

use crate::StageError;
use growing::Growing;
use std::collections::VecDeque;
use step::Step;

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
