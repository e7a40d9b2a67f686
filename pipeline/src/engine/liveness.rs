//! Liveness of scratch files: when one can be removed, and peak scratch size.
//!
//! A file is removed after its last user. In a resumable run, the inputs of tables stay until the commit, because a
//! resumed run rewrites its tables. Documents stay, because they are small.

use super::graph::{Graph, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Number of remaining users of each file.
pub struct Liveness {
    users: BTreeMap<String, usize>,
    kept: BTreeSet<String>,
}

impl Liveness {
    /// State before the first step of a run.
    pub fn new(graph: &Graph, resumable: bool) -> Self {
        let (mut users, mut kept) = (BTreeMap::new(), BTreeSet::new());
        for step in &graph.steps {
            for name in names(step) {
                if (resumable && step.product.is_part_of_run()) || name.ends_with(".json") {
                    kept.insert(name.to_owned());
                } else {
                    *users.entry(name.to_owned()).or_insert(0) += 1;
                }
            }
        }
        Self { users, kept }
    }

    /// Whether files can be removed after a step.
    pub fn is_last_user(&self, step: &Step) -> bool {
        let is_last = |name: &str| self.users.get(name).is_some_and(|&users| users <= 1) && !self.kept.contains(name);
        names(step).into_iter().any(is_last)
    }

    /// Records a step as done; returns the files that can be removed.
    pub fn finish(&mut self, step: &Step) -> Vec<String> {
        let mut gone = Vec::new();
        for name in names(step) {
            let Some(users) = self.users.get_mut(name) else { continue };
            *users = users.saturating_sub(1);
            if *users == 0 && !self.kept.contains(name) {
                gone.push(name.to_owned());
            }
        }
        gone
    }
}

/// Names of the files that a step uses, each once.
fn names(step: &Step) -> BTreeSet<&str> {
    step.files().map(|file| file.name.as_str()).collect()
}

/// Peak scratch bytes on one thread, without strings.
pub fn peak_bytes(graph: &Graph, nodes: u64, edges: u64) -> u64 {
    let mut liveness = Liveness::new(graph, true);
    let mut there: BTreeMap<&str, u64> = BTreeMap::new();
    let mut peak = 0;
    for step in &graph.steps {
        there.extend(step.writes.iter().map(|file| (file.name.as_str(), file.size.bytes(nodes, edges))));
        let now = there.values().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
        peak = peak.max(now.saturating_add(step.stage.temporary_bytes(nodes, edges)));
        for name in liveness.finish(step) {
            there.remove(name.as_str());
        }
    }
    peak
}

/// Bytes that a step adds to scratch.
pub fn written_bytes(step: &Step, nodes: u64, edges: u64) -> u64 {
    step.writes.iter().fold(0, |sum, file| sum.saturating_add(file.size.bytes(nodes, edges)))
}
