//! The additional bytes of sets whose members have several certificates.

use super::group::{self, GROUP_MEMBERS, Group, Groups, Ranked, TOO_LARGE};
use crate::lockstep::{self, Graph, Lockstep, Verdict};
use crate::slots::SlotArrays;
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::sorter::Sorted;
use heaplake_kit::{ArrayPlan, Context, Job, Lookup, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Maximum bytes of the additional nodes of a set.
const MORE_BYTES: u64 = 4 << 20;

/// Maximum number of additional nodes of a set: a constant, like the limit of a comparison.
const MOST: usize = (MORE_BYTES / 16) as usize;

/// Bytes of comparisons besides page frames: their tables, and the order of the sets while it is merged.
pub(super) const BYTES: u64 = lockstep::BYTES + MORE_BYTES + (4 << 20);

/// Computes additional bytes by comparing members again, the largest sets first, within the allowed work.
pub(super) fn find(work: u64, groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let mut wanted = wanted(groups, job)?;
    if wanted.count() == 0 {
        return Ok(());
    }
    let _tables = job.context.budget.reserve("pairs of a comparison", lockstep::BYTES + MORE_BYTES)?;
    let (offsets, to, values, candidates, components, bytes, members) =
        ArrayPlan::of(job, "additional bytes").make((
            offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
            lookup(columns::EQUAL_TO),
            lookup(columns::EQUAL_VALUE),
            lookup(columns::EQUAL_CANDIDATE),
            lookup(columns::EQUAL_COMPONENT),
            lookup(columns::NODE_SELF),
            lookup(GROUP_MEMBERS),
        ))?;
    let mut comparison = Comparison {
        graph: Graph { slots: SlotArrays::new(offsets, to), values, candidates, components },
        bytes,
        members,
        lockstep: Lockstep::new(),
        work,
    };
    while let Some(Ranked { number, .. }) = wanted.pop()? {
        job.context.check()?;
        let group = groups.get(number as usize)?;
        if let Some(additional) = comparison.additional(group.range(), job.context)? {
            groups.set(number as usize, Group { additional, exact: 2, ..group })?;
        }
    }
    Ok(())
}

/// The sets to compare again, the largest first.
fn wanted<'a>(groups: &mut Groups, job: &Job<'a>) -> Result<Sorted<'a, Ranked>, StageError> {
    let mut sorter = group::sorter(groups.count(), job)?;
    for number in 0..groups.count() {
        let group = groups.get(number)?;
        if group.exact == 0 && !group.is_undecided() {
            sorter.push(Ranked::new(group.sum - group.least, number))?;
        }
    }
    sorter.finish()
}

struct Comparison {
    graph: Graph,
    bytes: Lookup<u64>,
    members: Lookup<u32>,
    lockstep: Lockstep,
    work: u64,
}

impl Comparison {
    /// Size of all nodes that the other members of a set reach and the first does not; `None` if work or tables did not
    /// suffice.
    fn additional(&mut self, set: Range<usize>, context: &Context<'_>) -> Result<Option<u64>, StageError> {
        let first = self.members.get(set.start)?;
        let component = self.graph.components.get(first as usize)?;
        let mut more = FxHashSet::default();
        let mut sum = 0u64;
        for position in set.skip(1) {
            let other = self.members.get(position)?;
            if self.graph.components.get(other as usize)? == component {
                // Both reach the same nodes.
                continue;
            }
            self.work = self.work.saturating_sub(1);
            let verdict = self.lockstep.compare((first, other), &mut self.graph, &mut self.work, context)?;
            if verdict != Verdict::Same {
                return Ok(None);
            }
            for (_, image) in self.lockstep.moved() {
                if !self.lockstep.moves(image) && more.insert(image) {
                    if more.len() > MOST {
                        return Ok(None);
                    }
                    sum = sum.checked_add(self.bytes.get(image as usize)?).ok_or(TOO_LARGE)?;
                }
            }
        }
        Ok(Some(sum))
    }
}
