//! The sets in the order of the table.

use super::group::{self, GROUP_MEMBERS, Group, Groups, Ranked};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::sorter::Sorted;
use heaplake_kit::{ArrayPlan, ColumnWriter, Job, Lookup, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch as columns;

/// Writes rows and members of the sets, and records the position of each set.
pub(super) fn write(groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let sorted = sorted(groups, job)?;
    let members = ArrayPlan::of(job, "members of sets").one(lookup(GROUP_MEMBERS))?;
    write_sets(sorted, members, groups, job.scratch)
}

fn sorted<'a>(groups: &mut Groups, job: &Job<'a>) -> Result<Sorted<'a, Ranked>, StageError> {
    let mut sorter = group::sorter(groups.count(), job)?;
    for number in 0..groups.count() {
        sorter.push(Ranked::new(groups.get(number)?.additional(), number))?;
    }
    sorter.finish()
}

fn write_sets(
    mut sorted: Sorted<'_, Ranked>,
    mut members: Lookup<u32>,
    groups: &mut Groups,
    scratch: &Scratch,
) -> Result<(), StageError> {
    let mut rows = ColumnWriter::create(scratch, columns::SET_ROW)?;
    let mut nodes = ColumnWriter::create(scratch, columns::SET_MEMBER)?;
    let mut rank = 0;
    while let Some(Ranked { number, .. }) = sorted.pop()? {
        let group = groups.get(number as usize)?;
        groups.set(number as usize, Group { repeated_or_rank: rank, ..group })?;
        rank += 1;
        rows.push(row(&group))?;
        for position in group.range() {
            nodes.push(NodeId(members.get(position)?))?;
        }
    }
    rows.finish()?;
    nodes.finish().map(drop)
}

fn row(group: &Group) -> SetRow {
    SetRow {
        additional_bytes: group.additional(),
        least_bytes: group.certain(),
        most_bytes: group.most().unwrap_or(ABSENT),
        instance_bytes: group.bytes,
        example: NodeId(group.example),
        members: group.members,
        held_by: SetId::NONE,
        reasons: group.reasons,
        trivial: group.trivial,
        exact: u8::from(group.exact != 0),
    }
}
