//! The dominator tree in a preorder of its own, in which each subtree is an interval.

use heaplake_kit::column::BLOCK;
use heaplake_kit::{ColumnReader, Job, ReverseReader, StageError, WriteAt};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch as columns;

/// Passes the position of each node in the graph's preorder, its place in the tree's, and the size of its subtree to
/// `placed`, in the order of positions. `end` is 1 for each position; it becomes the end of its interval.
///
/// Dominators come first in the graph's preorder. So one sweep backwards computes the sizes of the subtrees, and one
/// forwards assigns every node the next free place inside its dominator's interval. Cost: linear.
pub(crate) fn lay_out(
    mut end: impl WriteAt<u32>,
    mut placed: impl FnMut(usize, u32, u32) -> Result<(), StageError>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let nodes = end.count();
    let mut backwards = ReverseReader::open(job.scratch, columns::PREORDER_DOMINATOR)?;
    let mut position = nodes;
    while position > 1 {
        for dominator in backwards.next_slice(position - 1)?.iter().rev() {
            position -= 1;
            let below = end.get(position)?;
            end.change(dominator.index(), |size| *size += below)?;
        }
    }
    let mut dominators = ColumnReader::<Preorder>::open(job.scratch, columns::PREORDER_DOMINATOR)?;
    for first in (0..nodes).step_by(BLOCK) {
        for (position, dominator) in (first..).zip(dominators.block(BLOCK.min(nodes - first))?) {
            let size = end.get(position)?;
            // Until its interval is full, its end is the next free place.
            let place = match position {
                0 => 0,
                _ => end.change(dominator.index(), |next| std::mem::replace(next, *next + size))?,
            };
            end.set(position, place + 1)?;
            placed(position, place, size)?;
        }
        job.context.check()?;
    }
    Ok(())
}
