//! Holders of realms without a handle. Used by [`super::resources`].
//!
//! A breadth-first search from the root over strong edges, excluding the embedder's bookkeeping (Node's native objects
//! point at every context, yet keep none alive), references of compiler jobs (handle scopes and strong roots) and the
//! globals of these realms. The holder of a realm is the last object on its shortest path that is also on the path to
//! another one: the place where realms accumulate.
//!
//! Resident memory: 4 bytes per node, paged if they do not fit; two stacks that spill. None with fewer than [`LEAST`]
//! such realms.

use super::graph::Graph;
use super::labels::Labels;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{ArrayPlan, Job, Stack, StageError, WriteAt, on_resident};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::resources::NONE;
use std::collections::{BTreeMap, BTreeSet};

/// Least number of realms for the search, and its limit.
const LEAST: usize = 2;
/// See [`LEAST`].
pub(super) const MOST: usize = 1 << 10;
/// Limit of the steps of a path.
const STEPS: usize = 64;

/// Returns the holder of each realm; [`NONE`] if it has none.
pub(super) fn find(
    realms: &[u32],
    root: u32,
    graph: &mut Graph,
    labels: &Labels,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<Vec<u32>, StageError> {
    if realms.len() < LEAST {
        return Ok(vec![NONE; realms.len()]);
    }
    let mut passed_over = BTreeSet::new();
    for &realm in realms {
        for name in [labels.global_proxy, labels.global_object, labels.extension] {
            passed_over.extend(graph.inner(realm, name)?);
        }
    }
    let mut parents = plan.one(filled(graph.count() as usize, NONE))?;
    let (passed_over, targets) = (&passed_over, &realms.iter().copied().collect());
    let jobs = [labels.handle_scope, labels.strong_roots];
    on_resident!(parents => Search { realms, targets, root, passed_over, jobs, graph, parents }.run(job))
}

struct Search<'a, P> {
    realms: &'a [u32],
    /// The realms, as a set.
    targets: &'a BTreeSet<u32>,
    root: u32,
    /// Globals of the realms, to which the root has shortcuts.
    passed_over: &'a BTreeSet<u32>,
    /// Names of the nodes that hold references of compiler jobs.
    jobs: [StringId; 2],
    graph: &'a mut Graph,
    /// Each node's predecessor on a shortest path.
    parents: P,
}

impl<P: WriteAt<u32>> Search<'_, P> {
    fn run(mut self, job: &Job<'_>) -> Result<Vec<u32>, StageError> {
        let open = |name| Stack::new(&job.context.budget, job.scratch, name);
        let (mut level, mut next) = (open("realms.level")?, open("realms.next")?);
        self.parents.set(self.root as usize, self.root)?;
        level.push(self.root)?;
        let mut missing = self.targets.len();
        loop {
            let mut any = false;
            while let Some(node) = level.pop()? {
                for at in self.graph.range(node)? {
                    let edge = self.graph.edge(at)?;
                    if edge.kind == self.graph.kinds.weak || self.parents.get(edge.to as usize)? != NONE {
                        continue;
                    }
                    if self.is_passed_over(node, edge.to)? {
                        continue;
                    }
                    self.parents.set(edge.to as usize, node)?;
                    if self.targets.contains(&edge.to) {
                        missing -= 1;
                    } else {
                        next.push(edge.to)?;
                        any = true;
                    }
                }
            }
            job.context.check()?;
            if !any || missing == 0 {
                break;
            }
            std::mem::swap(&mut level, &mut next);
        }
        self.holders()
    }

    /// Whether an edge keeps nothing alive, or only briefly: shortcuts to globals, references of compiler jobs,
    /// bookkeeping of the embedder.
    fn is_passed_over(&mut self, from: u32, to: u32) -> Result<bool, StageError> {
        if from == self.root && self.passed_over.contains(&to) {
            return Ok(true);
        }
        let kinds = self.graph.kinds;
        if self.targets.contains(&to) {
            return Ok(self.graph.kind(from)? == kinds.synthetic);
        }
        let kind = self.graph.kind(to)?;
        if kind == kinds.synthetic && self.jobs.contains(&self.graph.name(to)?) {
            return Ok(true);
        }
        let is_own = kind == kinds.native || (kind == kinds.synthetic && from == self.root);
        Ok(is_own && self.graph.text(to)?.starts_with(b"Node / "))
    }

    fn holders(&mut self) -> Result<Vec<u32>, StageError> {
        let mut paths = Vec::with_capacity(self.realms.len());
        let mut times: BTreeMap<u32, u32> = BTreeMap::new();
        for &realm in self.realms {
            let mut path = Vec::new();
            let mut at = self.parents.get(realm as usize)?;
            while at != NONE && at != self.root && path.len() < STEPS {
                path.push(at);
                *times.entry(at).or_default() += 1;
                at = self.parents.get(at as usize)?;
            }
            paths.push(path);
        }
        let mut holders = Vec::with_capacity(paths.len());
        for path in &paths {
            let mut holder = NONE;
            for &node in path {
                if times[&node] > 1 && self.graph.kind(node)? == self.graph.kinds.object {
                    holder = node;
                    break;
                }
            }
            holders.push(holder);
        }
        Ok(holders)
    }
}
