//! What the members of a possible set retain together, where it is not known how much merging them frees: that is at most
//! what is told.
//!
//! A member retains its subtree of the dominator tree. Of members that dominate one another only the outermost one may
//! count, which is not known of a set; so there are two upper bounds, and the less is taken: the sum over all members, and
//! what their class retains, the sum over its outermost nodes. One member stays, so the least of them is subtracted from the
//! first.

use super::group::{Groups, NONE, NUMBER};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ArrayPlan, ColumnReader, Job, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch as columns;

/// What is summed up of a set, bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Tally {
    sum: u64,
    least: u64,
}

const EMPTY: Tally = Tally { sum: 0, least: u64::MAX };

/// Finds it for the sets that are only possible and of which the additional bytes are not known.
pub fn find(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let scratch = job.scratch;
    let mut plan = ArrayPlan::of(job, "retained by sets");
    let (mut tallies, mut of_classes) =
        plan.make((filled(groups.count(), EMPTY), filled(job.class_count()?, 0_u64)))?;
    let mut numbers = ColumnReader::open(scratch, NUMBER)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut outermost = ColumnReader::open(scratch, columns::NODE_OUTERMOST)?;
    let nodes = numbers.remaining() as usize;
    for start in (0..nodes).step_by(BLOCK) {
        job.context.check()?;
        let count = BLOCK.min(nodes - start);
        let (numbers, retained) = (numbers.block(count)?, retained.block(count)?);
        let (classes, outermost) = (classes.block(count)?, outermost.block(count)?);
        for at in 0..count {
            let bytes = retained[at];
            if outermost[at] != 0 {
                of_classes.change(classes[at].index(), |class| *class = class.saturating_add(bytes))?;
            }
            if numbers[at] != NONE {
                tallies.change(numbers[at] as usize, |tally| {
                    *tally = Tally { sum: tally.sum.saturating_add(bytes), least: tally.least.min(bytes) };
                })?;
            }
        }
    }
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut next = 0;
    // Sets are numbered in the order of their first members.
    for number in 0..groups.count() {
        let mut group = groups.get(number)?;
        if group.reasons == 0 || group.exact != 0 {
            continue;
        }
        let example = group.example as usize;
        class.skip((example - next) as u64)?;
        let of_class = of_classes.get(class.next()?.index())?;
        next = example + 1;
        let Tally { sum, least } = tallies.get(number)?;
        // Nodes that do not count for their class are at least as large as they are.
        let own = group.bytes.saturating_mul(u64::from(group.members) - 1);
        group.additional = group.additional.min((sum - least).min(of_class).max(own));
        groups.set(number, group)?;
    }
    Ok(())
}
