//! Computes the critical path of a run on many cores: the longest path through its stages, by their measured times.

use crate::report::{Section, number};
use anyhow::{Context, Result, bail};
use clap::Args;
use heaplake::engine::forecast;
use heaplake::engine::graph::Graph;
use heaplake_ingest::{FORMATS, Format};
use heaplake_lake::commit;
use heaplake_lake::reader::Reader;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Simulated thread counts.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Options of `critical-path`.
#[derive(Args)]
#[command(after_help = "Example:
  heaplake analyze big.heapsnapshot --out lake --threads 1 --log-format json 2> log
  heaplake-bench critical-path lake/release=none/snapshot=big-1f0c9a77 --log log")]
pub(crate) struct Options {
    /// Folder of a run, made with one thread, so that stages did not slow each other down
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Log of the run with --log-format json: the part of each stage that threads share [default: none]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write the section of benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Prints the bound.
pub(crate) fn run(options: &Options) -> Result<()> {
    let run = commit::read(&options.run)?.context("no run")?;
    let seconds = times(&options.run)?;
    // The timed stages identify the format: its graph contains the reader.
    let graphs = FORMATS.into_iter().map(|format: &dyn Format| forecast::graph(format, &run.options));
    let Some(graph) = graphs.into_iter().find(|graph| seconds.contains_key(&graph.steps[0].name)) else {
        bail!("{}: not the analysis of a snapshot", options.run.display());
    };
    let whole = bound(&graph, &seconds);
    let name =
        Path::new(&run.source).file_name().map_or_else(|| run.source.clone().into(), |name| name.to_string_lossy());
    let mut section = Section::new("critical-path", &format!("Stages of {name}, {} nodes.", run.summary.node_count));
    let (work, span) = (number(Some(whole.work)), number(Some(whole.span)));
    section.say(&format!(
        "All stages one after the other: {work} s. The longest way through them: {span} s, {} of it, if each takes one \
         thread: {}.",
        number(Some(whole.span / whole.work)),
        whole.path.join(", "),
    ));
    let divisible = options.log.as_deref().map_or_else(|| Ok(BTreeMap::new()), divisible)?;
    let rows = THREADS.map(|threads| {
        let alone = simulate(&graph, &seconds, threads);
        let took = divided(&seconds, &divisible, threads);
        // Threads that share a stage are not available to another stage at the same time.
        let shared = simulate(&graph, &took, threads).max(whole.work / threads as f64);
        let times = |took: f64| number(Some(whole.work / took));
        [threads.to_string(), number(Some(alone)), times(alone), number(Some(shared)), times(shared)]
    });
    let head = ["threads", "s, one for a stage", "times faster", "s, stages divided where they can be", "times faster"];
    section.table(head, &rows);
    let limit = bound(&graph, &divided(&seconds, &divisible, usize::MAX));
    section.say(&format!(
        "On any number of threads, {} s: {}.",
        number(Some(limit.span)),
        limit.path.iter().map(|name| told(name, &seconds, &divisible)).collect::<Vec<_>>().join(", ")
    ));
    section.end(options.save)
}

/// A stage of the critical path with its sequential seconds.
fn told(name: &str, seconds: &BTreeMap<String, f64>, divisible: &BTreeMap<String, f64>) -> String {
    let of = |times: &BTreeMap<String, f64>| times.get(name).copied().unwrap_or(0.0);
    format!("{name} {:.2}", (of(seconds) - of(divisible)).max(0.0))
}

/// Seconds of each stage that threads share, from the run's log.
fn divisible(log: &Path) -> Result<BTreeMap<String, f64>> {
    let text = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut parts = BTreeMap::new();
    for line in text.lines() {
        let event: serde_json::Value = serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        if let (Some(stage), Some(part)) = (event["stage"].as_str(), event["divisible_seconds"].as_f64()) {
            parts.insert(stage.to_owned(), part);
        }
    }
    Ok(parts)
}

/// Seconds of each stage, from the snapshot table.
fn times(run: &Path) -> Result<BTreeMap<String, f64>> {
    let table = Reader::open(&run.join(heaplake_schemas::snapshot::TABLE.file))?;
    let mut batches = table.columns(&["stages"])?;
    let batch = batches.batch()?.context("no row")?;
    let stages = batch.elements("stages", 0)?;
    let (names, seconds) = (stages.texts("name")?, stages.f64s("seconds")?);
    Ok((0..seconds.len()).map(|row| (names.value(row).to_owned(), seconds.value(row))).collect())
}

/// Bounds on the time of a run, seconds.
struct Bound {
    /// Sum of all steps: the time on one thread.
    work: f64,
    /// Critical path, the longest path through the graph: the least time on any number of threads.
    span: f64,
    /// Steps of that path, in order.
    path: Vec<String>,
}

/// Computes the bounds. A step missing from `seconds` takes no time.
fn bound(graph: &Graph, seconds: &BTreeMap<String, f64>) -> Bound {
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
fn divided(
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
fn simulate(graph: &Graph, seconds: &BTreeMap<String, f64>, threads: usize) -> f64 {
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
