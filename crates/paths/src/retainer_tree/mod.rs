//! Merged retainer trees of sets of objects.
//!
//! A shortest path names one retainer of an object; cutting it frees nothing if there is another one. [`grow`] walks
//! upward from the objects (the *instances*) to all their retainers, and merges these by class of the retainer and
//! label of the edge. Each *branch* is a path of such pairs, from the instances up, with the distinct instances
//! retained through it.
//!
//! # Which retainers are followed
//!
//! Heaps have cycles: nearly every object of a program is reachable from nearly every other one, through its hidden
//! class, its class loader or a parent pointer. So a walk needs an order.
//!
//! - A retainer **nearer** to the root than its target is always followed.
//! - In the first [`Limits::any_level`] levels a retainer that is as near or **farther** is followed, too, unless its
//!   target dominates it: then the retainer lives on the object and does not keep it alive. (Example: a map retains
//!   objects through a table, so it is no nearer than they are if a plain object retains them directly.) Further up
//!   only nearer ones are followed: nodes there are shared by everything, and their other retainers are most of the
//!   program.
//! - User roots begin at distance 1. A node at distance 1 or less has no retainer but the root.
//! - The **root** ends a branch. A node without incoming essential edges (an orphan) is retained by the root, by an
//!   edge `(no path)`.
//! - A part of the runtime (a backing store) is skipped if the object that owns it has its own edge to the same target:
//!   some formats report a reference both for the object and for its part.
//! - A branch does not visit a node twice.
//!
//! # Exact counts in little memory
//!
//! A branch carries pairs of retainer and *item*. Initially each instance is an item. Instances with equal retainers in
//! a branch are indistinguishable further up, so they merge into one item with their sums: once a thousand instances
//! meet in one table, the walk continues with one pair. Counts are of distinct instances, not of paths.
//!
//! Work and memory are bounded by [`Limits`], which do not depend on the budget, so results do not either. A branch
//! that was stopped by a limit, or with unexamined retainers, is marked.

//!
//! # Trees in lockstep
//!
//! Instances of a class are scattered over the heap. If that is on disk, walking one class after the other would read
//! most of it once per class. So all trees step together: the retainers of the next branch of every tree are requested
//! at once, in storage order. Trees are otherwise independent.

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

use heaplake_kit::StageError;
use level::Level;
use tree::Tree;

/// Returns the retainer trees of these lists of instances, depth first. The caller has reserved the memory of `batch`,
/// which covers this many lists.
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
