//! Measures Java heap dumps: heaplake in several settings against the floor and other programs.

use crate::contest::{self, Entry, Outcome};
use crate::end_to_end;
use crate::files::Snapshot;
use crate::goals::{Goal, goal};
use crate::peers::{self, ANALYZER, MAT, SLURP};
use crate::report::ratio;
use crate::settings::{Measuring, ONE_THREAD, SIZES_ONLY, SMALL_MEMORY, TWO_THREADS};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Row name: with edges.
const EDGES: &str = "heaplake --edges";
/// Row name: without the table of all objects.
const NO_NODES: &str = "heaplake --tables classes,threads,snapshot";
/// Row name: with the goal's memory budget.
const SOME_MEMORY: &str = "heaplake --memory 640MiB";
/// Stages that turn a dump into columns.
const INGEST: [&str; 3] = ["scan", "link", "texts"];

/// Dumps from this size on count as the goal's dump.
const LARGE: u64 = 2_000_000_000;

const GOALS: [Goal; 7] = [
    goal("processor time at most 6/10 of hprof-analyzer's", 0.6, |on| on.cpu_ratio(TWO_THREADS, ANALYZER)),
    goal("the same for sizes and classes only, one thread", 0.6, |on| on.cpu_ratio(SIZES_ONLY, ANALYZER)),
    goal("without the table of objects, 4/10 of hprof-analyzer's", 0.4, |on| on.cpu_ratio(NO_NODES, ANALYZER)),
    goal("processor time at most 1/4 of Eclipse MAT's", 0.25, |on| on.cpu_ratio(TWO_THREADS, MAT)),
    goal("ingest (seconds of its stages, one thread) at most twice hprof-slurp's processor time", 2.0, |on| {
        ratio(on.of(ONE_THREAD, ingest), on.of(SLURP, Outcome::cpu))
    }),
    goal("peak memory in MB at most 800 on 2 GB or more with `--memory 640MiB`", 800.0, |on| {
        on.of(SOME_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6)
    }),
    goal("peak memory in MB at most 400 on 2 GB or more with `--memory 256MiB`", 400.0, |on| {
        on.of(SMALL_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6)
    }),
];

/// Options of `dumps`.
#[derive(Args)]
#[command(after_help = "Example:
  heaplake-bench dumps --runs 1 target/bench/depot-1600000.hprof")]
pub(crate) struct Options {
    /// Heap dumps
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports. A program that fails on a file is a result, not an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let snapshots: Vec<Snapshot> = options.files.iter().map(|path| Snapshot::given(path)).collect::<Result<_>>()?;
    let mut section = options.measuring.section("dumps")?;
    let entries = |snapshot: &Snapshot| entries(options, snapshot);
    end_to_end::measure(&mut section, &options.measuring, &snapshots, entries, &GOALS)?;
    section.end(options.measuring.engine.save)
}

fn entries(options: &Options, snapshot: &Snapshot) -> Result<Vec<Entry>> {
    let names = [ONE_THREAD, TWO_THREADS, EDGES, SIZES_ONLY, NO_NODES, SOME_MEMORY, SMALL_MEMORY];
    let mut entries = end_to_end::settings(&options.measuring.engine.heaplake, snapshot, &names)?;
    entries.extend(peers::of_dumps(&snapshot.path)?);
    Ok(entries)
}

/// Seconds of the ingest stages.
fn ingest(outcome: &Outcome) -> Option<f64> {
    let runs = outcome.runs.as_ref().ok()?;
    let seconds = |log: &str| {
        let stages = log.lines().filter_map(end_to_end::stage);
        stages.filter(|(name, ..)| INGEST.contains(name)).map(|(.., seconds)| seconds).sum()
    };
    Some(contest::median(runs.iter().map(|run| seconds(&run.log)).collect()))
}
