//! Which nodes have one retainer. It is their dominator, so where both are asked for, one access answers, and most objects
//! of a heap have only one.

use heaplake_kit::{Bitset, ColumnReader, Job, StageError};
use heaplake_schemas::scratch as columns;

/// The positions in the preorder, of so many, with exactly one retainer. Cost: one pass over the numbers of retainers; a
/// bit per position.
///
/// # Errors
/// [`StageError::Budget`], [`StageError::Io`], [`StageError::Scratch`].
pub(super) fn positions(reached: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let mut single = Bitset::new(&job.context.budget, "retainer trees: single retainers", reached)?;
    let mut degrees = ColumnReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
    for position in (1..reached).rev() {
        if degrees.next()? == 1 {
            single.insert(position);
        }
    }
    Ok(single)
}
