//! Upper bounds of the bytes that merging a set frees, where the exact number is unknown.
//!
//! Additional nodes are reached by some member but not by the first one. So one search marks nodes near the first
//! member, and another one from the other members stops at marked nodes. It meets all additional nodes, even if the
//! marks are incomplete.

use super::group::{self, GROUP_MEMBERS, Group, Groups, Ranked};
use crate::slots::{SlotArrays, Slots};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{ArrayPlan, Job, Lookup, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::{self as columns, limits};
use rustc_hash::FxHashSet;

/// Maximum number of nodes marked near the first member.
const NEAR: usize = 1 << 14;

/// Maximum number of nodes that the other members may reach.
const OTHERS: usize = 1 << 16;

/// Number of slots that all sets together may follow: a constant, like the limit of a comparison.
const WORK: u64 = 4 << 20;

/// Maximum bytes of both tables and the queue.
const TABLES: u64 = 4 << 20;

/// Bounds the sets without known additional bytes, the largest first. `whole` is the size of all nodes in bytes, an
/// upper bound of every set.
pub(super) fn find(whole: u64, groups: &mut Groups, job: &Job<'_>) -> Result<(), StageError> {
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

/// Whether references were followed but did not yield the additional bytes.
fn is_open(group: &Group) -> bool {
    group.exact == 0 && group.reasons & limits::MODE == 0
}

struct Search {
    slots: SlotArrays,
    bytes: Lookup<u64>,
    members: Lookup<u32>,
    near: FxHashSet<u32>,
    others: FxHashSet<u32>,
    /// Nodes with slots still to follow.
    open: Vec<u32>,
    work: u64,
}

impl Search {
    /// Bytes that the other members reach beyond the marked nodes; `None` beyond the limits.
    fn most(&mut self, set: &Group) -> Result<Option<u64>, StageError> {
        // New tables: clearing a large one is slow.
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

    /// Marks nodes near the first member, breadth first: nodes that members share are near.
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

    /// Queues the targets of a node that are neither marked nor known; returns false beyond the limits.
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
