//! Nodes with one retainer, which is their dominator: one access answers both queries for most objects of a heap.

use heaplake_kit::{Bitset, ColumnReader, Job, StageError};
use heaplake_schemas::scratch as columns;

/// Returns the positions below `reached` in the preorder with exactly one retainer. Cost: one pass over the numbers of
/// retainers; a bit per position.
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
