//! Lower bounds on the wall time of a run on any number of threads, from the time of each step.

use super::graph::Graph;
use std::collections::BTreeMap;

/// Bounds on the time of a run, seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Sum of all steps: the time on one thread.
    pub work: f64,
    /// Critical path, the longest path through the graph: the least time on any number of threads.
    pub span: f64,
    /// Steps of that path, in order.
    pub path: Vec<String>,
}

/// Computes the bounds. A step missing from `seconds` takes no time.
pub fn bound(graph: &Graph, seconds: &BTreeMap<String, f64>) -> Bound {
    let took = |step: usize| seconds.get(&graph.steps[step].name).copied().unwrap_or(0.0);
    // Per step: its earliest end, and the step it waited for.
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

/// Scales the time of each step to a number of threads by Amdahl's law; `divisible` is the part that threads share.
pub fn divided(
    seconds: &BTreeMap<String, f64>,
    divisible: &BTreeMap<String, f64>,
    threads: usize,
) -> BTreeMap<String, f64> {
    let part = |name| divisible.get(name).copied().unwrap_or(0.0);
    let on_threads = |name, took: f64| took - part(name).min(took) * (1.0 - 1.0 / threads.max(1) as f64);
    seconds.iter().map(|(name, &took)| (name.clone(), on_threads(name, took))).collect()
}

/// Simulates a run on a number of threads with one thread per step: steps start in graph order as soon as they can.
/// Returns its time.
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
