//! How fast a run could be on any number of threads, from the time that each of its steps took.

use super::graph::Graph;
use std::collections::BTreeMap;

/// What bounds the time of a run. Times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The sum of all steps: the time on one thread.
    pub work: f64,
    /// The critical path, the longest path through the graph: the least time on any number of threads.
    pub span: f64,
    /// The steps of that path, in order.
    pub path: Vec<String>,
}

/// Computes the bounds. A step that is not named took no time.
#[must_use]
pub fn bound(graph: &Graph, seconds: &BTreeMap<String, f64>) -> Bound {
    let took = |step: usize| seconds.get(&graph.steps[step].name).copied().unwrap_or(0.0);
    // Of each step: when it can end at the earliest, and which one it waited for.
    let mut ends: Vec<(f64, Option<usize>)> = Vec::with_capacity(graph.steps.len());
    for (position, step) in graph.steps.iter().enumerate() {
        let last = step.after.iter().copied().max_by(|&a, &b| ends[a].0.total_cmp(&ends[b].0));
        let begins = last.map_or(0.0, |before| ends[before].0);
        ends.push((begins + took(position), last));
    }
    let last = (0..ends.len()).max_by(|&a, &b| ends[a].0.total_cmp(&ends[b].0));
    let way = std::iter::successors(last, |&step| ends[step].1);
    let mut path: Vec<String> = way.map(|step| graph.steps[step].name.clone()).collect();
    path.reverse();
    Bound { work: (0..ends.len()).map(took).sum(), span: last.map_or(0.0, |step| ends[step].0), path }
}

/// The time of each step on so many threads, by Amdahl's law: `divisible` is the part of it that threads share.
#[must_use]
pub fn divided(
    seconds: &BTreeMap<String, f64>,
    divisible: &BTreeMap<String, f64>,
    threads: usize,
) -> BTreeMap<String, f64> {
    let part = |name| divisible.get(name).copied().unwrap_or(0.0);
    let on_threads = |name, took: f64| took - part(name).min(took) * (1.0 - 1.0 / threads.max(1) as f64);
    seconds.iter().map(|(name, &took)| (name.clone(), on_threads(name, took))).collect()
}

/// The time of the run on so many threads, if a step takes one and as long as it did: steps start in the order of the
/// graph as soon as they can.
#[must_use]
pub fn simulate(graph: &Graph, seconds: &BTreeMap<String, f64>, threads: usize) -> f64 {
    let took = |step: usize| seconds.get(&graph.steps[step].name).copied().unwrap_or(0.0);
    let mut ended: Vec<Option<f64>> = vec![None; graph.steps.len()];
    let mut running: Vec<(f64, usize)> = Vec::new();
    let mut waiting: Vec<usize> = (0..graph.steps.len()).collect();
    let mut now = 0.0;
    while !waiting.is_empty() || !running.is_empty() {
        let done = |step: usize| ended[step].is_some_and(|at| at <= now);
        let ready = waiting.iter().position(|&step| graph.steps[step].after.iter().all(|&before| done(before)));
        match ready.filter(|_| running.len() < threads.max(1)) {
            Some(place) => {
                let step = waiting.remove(place);
                running.push((now + took(step), step));
            }
            None => {
                running.sort_by(|a, b| b.0.total_cmp(&a.0));
                let Some((at, step)) = running.pop() else { break };
                (now, ended[step]) = (at, Some(at));
            }
        }
    }
    now
}
