//! Bounds the bytes that merging a possible set frees by the retained size of its members.
//!
//! A member retains its subtree of the dominator tree. Members may dominate each other, and the outermost members are
//! unknown. So the bound is the smaller one of two sums: the retained sizes of all members without the smallest one,
//! since one member stays; and the retained size of their class.

use super::group::{Group, Groups, NONE, NUMBER};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{Array, ArrayPlan, ColumnReader, Job, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch as columns;

/// Retained sizes of the members of a set, bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Tally {
    sum: u64,
    least: u64,
}

const EMPTY: Tally = Tally { sum: 0, least: u64::MAX };

/// Bounds the possible sets without known additional bytes.
pub(super) fn find(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let mut open = 0;
    for number in 0..groups.count() {
        open += u64::from(is_open(&groups.get(number)?));
    }
    if open == 0 {
        return Ok(());
    }
    let mut plan = ArrayPlan::of(job, "retained by sets");
    let (mut sets, mut of_classes) = plan.make((filled(groups.count(), EMPTY), filled(job.class_count()?, 0_u64)))?;
    add_up(&mut sets, &mut of_classes, job)?;
    let mut classes = ColumnReader::open(job.scratch, columns::NODE_CLASS)?;
    let mut next = 0;
    // Sets are numbered in the order of their first members.
    for number in 0..groups.count() {
        let mut group = groups.get(number)?;
        if !is_open(&group) {
            continue;
        }
        let example = u64::from(group.example);
        classes.skip(example - next)?;
        let of_class = of_classes.get(classes.next()?.index())?;
        next = example + 1;
        let Tally { sum, least } = sets.get(number)?;
        // The sum of a class may leave out members. Merging frees at least the members' own sizes.
        let own = group.bytes.saturating_mul(u64::from(group.members) - 1);
        group.additional = group.additional.min((sum - least).min(of_class).max(own));
        groups.set(number, group)?;
    }
    Ok(())
}

fn is_open(group: &Group) -> bool {
    group.reasons != 0 && group.exact == 0
}

/// Adds up the retained sizes of the members of each set, and those of the outermost nodes of each class.
fn add_up(sets: &mut Array<Tally>, of_classes: &mut Array<u64>, job: &Job<'_>) -> Result<(), StageError> {
    let scratch = job.scratch;
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
                sets.change(numbers[at] as usize, |set| {
                    *set = Tally { sum: set.sum.saturating_add(bytes), least: set.least.min(bytes) };
                })?;
            }
        }
    }
    Ok(())
}
