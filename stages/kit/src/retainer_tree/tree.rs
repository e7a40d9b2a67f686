//! A tree on its way: its branches, and those that wait to be walked.

use super::growing::Growing;
use super::step::Step;
use super::walk::{Branch, Instance, Limits};
use std::collections::VecDeque;

/// A tree that grows.
pub(super) struct Tree<'a> {
    pub limits: &'a Limits,
    branches: Vec<Branch>,
    waiting: VecDeque<Growing>,
    /// Pairs that wait.
    pairs: usize,
    work: u64,
    walked: usize,
}

impl<'a> Tree<'a> {
    /// The tree of these instances, before the first step.
    pub fn new(instances: &[Instance], limits: &'a Limits) -> Self {
        let waiting = VecDeque::from([Growing::seed(instances, limits)]);
        Self { limits, branches: Vec::new(), waiting, pairs: 0, work: 0, walked: 0 }
    }

    /// What is to be walked next; those that a limit stops are marked.
    pub fn next(&mut self) -> Option<Growing> {
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

    /// Takes what a step has found behind a branch.
    pub fn accept(&mut self, step: Step) {
        let Step { branch: at, children, is_cut, cost } = step;
        self.work += cost;
        at.iter().for_each(|&at| self.branches[at].is_cut |= is_cut);
        for (mut branch, child) in children {
            // Where not all holders of the instances were looked at, their branches say so.
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

    /// The branches, each before those behind it, in the order in which they were found.
    pub fn finish(self) -> Vec<Branch> {
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
