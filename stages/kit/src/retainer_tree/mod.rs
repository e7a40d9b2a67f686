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

//!
//! # Trees side by side
//!
//! Instances of a class lie all over the heap. Where that is on disk, a walk of one class after the other reads most of it
//! for each of them. So all trees take their steps together: the holders of every branch that is next are asked for in one
//! go, in the order in which they lie. Trees do not meet in anything else.

mod fold;
mod growing;
mod labels;
mod level;
mod order;
mod retainers;
mod step;
pub mod text;
mod tree;
mod walk;

pub use walk::{Amount, Batch, Branch, Dominates, Holders, Instance, Kind, Limits, Place, Retainer, SOON};

use crate::StageError;
use level::Level;
use tree::Tree;

/// The trees of all holders of these lists of instances, depth first. The caller has
/// reserved what `batch` takes, which has room for so many lists.
///
/// # Errors
/// Those of the heap.
pub fn grow(
    heap: &mut impl Holders,
    lists: &[(&[Instance], Limits)],
    batch: Batch,
) -> Result<Vec<Vec<Branch>>, StageError> {
    let mut trees: Vec<Tree<'_>> = lists.iter().map(|(instances, limits)| Tree::new(instances, limits)).collect();
    loop {
        heap.check()?;
        let next =
            trees.iter_mut().enumerate().filter_map(|(at, tree)| Some(Level::new(at, tree.next()?, tree.limits)));
        let mut levels: Vec<Level<'_>> = next.collect();
        if levels.is_empty() {
            return Ok(trees.into_iter().map(Tree::finish).collect());
        }
        retainers::find(heap, &mut levels, batch.retainers)?;
        labels::find(heap, &mut levels)?;
        for level in levels {
            let tree = level.tree;
            trees[tree].accept(step::expand(heap, level)?);
        }
    }
}
