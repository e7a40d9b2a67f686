//! A tree being grown: its branches, and the queue of branches to expand.

use super::growing::Growing;
use super::step::Step;
use super::walk::{Branch, Instance, Limits};
use std::collections::VecDeque;

/// A tree being grown.
pub(super) struct Tree<'a> {
    pub limits: &'a Limits,
    branches: Vec<Branch>,
    waiting: VecDeque<Growing>,
    /// Number of pairs in the queue.
    pairs: usize,
    work: u64,
    walked: usize,
}

impl<'a> Tree<'a> {
    /// Creates the tree of these instances, before the first step.
    pub(super) fn new(instances: &[Instance], limits: &'a Limits) -> Self {
        let waiting = VecDeque::from([Growing::seed(instances, limits)]);
        Self { limits, branches: Vec::new(), waiting, pairs: 0, work: 0, walked: 0 }
    }

    /// Returns the next branch to expand; marks those stopped by a limit.
    pub(super) fn next(&mut self) -> Option<Growing> {
        while let Some(growing) = self.waiting.pop_front() {
            self.pairs -= growing.waiting();
            if self.work < self.limits.work && self.walked <= self.limits.branches {
                self.walked += 1;
                return Some(growing);
            }
            growing.branch.iter().for_each(|&at| self.branches[at].is_cut = true);
        }
        None
    }

    /// Adds the result of a step.
    pub(super) fn accept(&mut self, step: Step) {
        let Step { branch: at, children, is_cut, cost } = step;
        self.work += cost;
        at.iter().for_each(|&at| self.branches[at].is_cut |= is_cut);
        for (mut branch, child) in children {
            // If some retainers of the instances were not examined, all their branches are marked.
            branch.is_cut |= is_cut && at.is_none();
            let place = self.branches.len();
            if let Some(mut child) = child {
                if branch.level >= self.limits.depth || self.pairs + child.pairs.len() > self.limits.pairs {
                    branch.is_cut = true;
                } else {
                    child.branch = Some(place);
                    self.pairs += child.waiting();
                    self.waiting.push_back(child);
                }
            }
            self.branches.push(branch);
        }
    }

    /// Returns the branches depth first, siblings in discovery order.
    pub(super) fn finish(self) -> Vec<Branch> {
        let branches = self.branches;
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); branches.len() + 1];
        for (at, branch) in branches.iter().enumerate() {
            behind[branch.parent.unwrap_or(branches.len())].push(at);
        }
        let mut order = Vec::with_capacity(branches.len());
        let first = behind[branches.len()].iter().rev();
        let mut stack: Vec<(usize, Option<usize>)> = first.map(|&at| (at, None)).collect();
        while let Some((at, parent)) = stack.pop() {
            stack.extend(behind[at].iter().rev().map(|&child| (child, Some(order.len()))));
            order.push(Branch { parent, ..branches[at] });
        }
        order
    }
}
