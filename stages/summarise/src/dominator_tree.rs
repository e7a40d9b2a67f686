//! The dominator tree in a preorder of its own, in which each subtree is an interval.

use heaplake_kit::column::BLOCK;
use heaplake_kit::{ColumnReader, Job, ReverseReader, StageError, WriteAt};
use heaplake_schemas::ids::Preorder;
use heaplake_schemas::scratch as columns;

/// Numbers the dominator tree in preorder. Calls `placed(position, place, size)` in the graph's preorder: `place` is the
/// node's number in the tree, `size` that of its subtree. `end` starts as all ones and becomes the exclusive ends of the
/// subtrees.
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
        job.context.check()?;
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
