//! The most that merging the members of a set can free, where nobody knows how much it is.
//!
//! All additional bytes are those of nodes that some member reaches and the first one does not. So a search from the
//! first member marks the nodes near it, and one from the others stops at them: what it meets is at least all that is
//! additional, even if not all that the first member reaches was marked.

use super::group::{self, GROUP_MEMBERS, Group, Groups, Ranked};
use crate::slots::{SlotArrays, Slots};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{ArrayPlan, Job, Lookup, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::{self as columns, limits};
use rustc_hash::FxHashSet;

/// Nodes near the first member that are marked, at most.
const NEAR: usize = 1 << 14;

/// Nodes that the other members may reach, at most.
const OTHERS: usize = 1 << 16;

/// Slots of all sets together that may be followed: a constant, as the limit of a comparison.
const WORK: u64 = 4 << 20;

/// What both tables and the nodes to follow take at most, bytes.
const TABLES: u64 = 4 << 20;

/// Finds it for the sets of which the additional bytes are not known, the largest first. `whole` is the size of all
/// nodes, bytes: more cannot be freed.
pub fn find(whole: u64, groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
    let mut sorter = group::sorter(groups.count(), job)?;
    for number in 0..groups.count() {
        let group = groups.get(number)?;
        if is_open(&group) {
            sorter.push(Ranked::new(group.sum, number))?;
        }
    }
    let mut wanted = sorter.finish()?;
    if wanted.count() == 0 {
        return Ok(());
    }
    let _tables = job.context.budget.reserve("bounds of duplicates", TABLES)?;
    let (offsets, to, bytes, members) = ArrayPlan::of(job, "bounds of duplicates").make((
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
        lookup(columns::NODE_SELF),
        lookup(GROUP_MEMBERS),
    ))?;
    let mut search = Search {
        slots: SlotArrays::new(offsets, to),
        bytes,
        members,
        near: FxHashSet::default(),
        others: FxHashSet::default(),
        open: Vec::new(),
        work: WORK,
    };
    while let Some(Ranked { number, .. }) = wanted.pop()? {
        job.context.check()?;
        let group = groups.get(number as usize)?;
        let most = search.most(&group)?.unwrap_or(u64::MAX).min(whole - group.bytes);
        groups.change(number as usize, |group| group.additional = most)?;
    }
    Ok(())
}

/// Whether references were followed and did not tell the additional bytes.
fn is_open(group: &Group) -> bool {
    group.exact == 0 && group.reasons & limits::MODE == 0
}

struct Search {
    slots: SlotArrays,
    bytes: Lookup<u64>,
    /// Members of all sets.
    members: Lookup<u32>,
    near: FxHashSet<u32>,
    others: FxHashSet<u32>,
    /// Nodes of which the slots are still to be followed.
    open: Vec<u32>,
    work: u64,
}

impl Search {
    /// Bytes of what the other members reach beyond what is near the first one; `None` if that is too much.
    fn most(&mut self, set: &Group) -> Result<Option<u64>, StageError> {
        // A table that was made large takes long to clear.
        (self.near, self.others) = (FxHashSet::default(), FxHashSet::default());
        let mut members = set.range();
        let first = members.next().map(|at| self.members.get(at)).transpose()?;
        self.mark(first)?;
        let mut sum = 0_u64;
        for at in members {
            let member = self.members.get(at)?;
            if self.near.contains(&member) || !self.others.insert(member) {
                continue;
            }
            self.open.clear();
            self.open.push(member);
            while let Some(node) = self.open.pop() {
                sum = sum.saturating_add(self.bytes.get(node as usize)?);
                if !self.follow(node)? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(sum))
    }

    /// Marks what is near the first member, breadth first: what the members share is near.
    fn mark(&mut self, first: Option<u32>) -> Result<(), StageError> {
        self.open.clear();
        self.near.extend(first);
        self.open.extend(first);
        let mut at = 0;
        while at < self.open.len() {
            for slot in self.slots.of(self.open[at])? {
                if self.near.len() == NEAR || self.work == 0 {
                    return Ok(());
                }
                self.work -= 1;
                let target = self.slots.to(slot)?;
                if self.near.insert(target) {
                    self.open.push(target);
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Takes the targets of a node that are neither near nor known; whether there are not too many.
    fn follow(&mut self, node: u32) -> Result<bool, StageError> {
        for slot in self.slots.of(node)? {
            if self.others.len() > OTHERS || self.work == 0 {
                return Ok(false);
            }
            self.work -= 1;
            let target = self.slots.to(slot)?;
            if !self.near.contains(&target) && self.others.insert(target) {
                self.open.push(target);
            }
        }
        Ok(true)
    }
}
