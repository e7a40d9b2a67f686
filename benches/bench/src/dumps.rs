//! Measures Java heap dumps: heaplake in several settings against the floor and other programs.

use crate::contest::{self, Entry, Outcome};
use crate::end_to_end;
use crate::files::Snapshot;
use crate::goals::{self, Goal, Measured};
use crate::machine;
use crate::peers::{self, ANALYZER, MAT, SLURP};
use crate::report::{Section, megabytes, ratio};
use crate::settings::{FLOOR, ONE_THREAD, SIZES_ONLY, SMALL_MEMORY, TWO_THREADS};
use anyhow::Result;
use clap::Args;
use std::env;
use std::ffi::OsString;
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
    Goal {
        text: "processor time at most 6/10 of hprof-analyzer's",
        bound: 0.6,
        measure: |on| on.cpu_ratio(TWO_THREADS, ANALYZER),
    },
    Goal {
        text: "the same for sizes and classes only, one thread",
        bound: 0.6,
        measure: |on| on.cpu_ratio(SIZES_ONLY, ANALYZER),
    },
    Goal {
        text: "without the table of objects, 4/10 of hprof-analyzer's",
        bound: 0.4,
        measure: |on| on.cpu_ratio(NO_NODES, ANALYZER),
    },
    Goal {
        text: "processor time at most 1/4 of Eclipse MAT's",
        bound: 0.25,
        measure: |on| on.cpu_ratio(TWO_THREADS, MAT),
    },
    Goal {
        text: "ingest (seconds of its stages, one thread) at most twice hprof-slurp's processor time",
        bound: 2.0,
        measure: |on| ratio(on.of(ONE_THREAD, ingest), on.of(SLURP, Outcome::cpu)),
    },
    Goal {
        text: "peak memory in MB at most 800 on 2 GB or more with `--memory 640MiB`",
        bound: 800.0,
        measure: |on| on.of(SOME_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6),
    },
    Goal {
        text: "peak memory in MB at most 400 on 2 GB or more with `--memory 256MiB`",
        bound: 400.0,
        measure: |on| on.of(SMALL_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6),
    },
];

/// Options of `dumps`.
#[derive(Args)]
#[command(after_help = "Example:
  heaplake-bench dumps --runs 1 target/bench/depot-1600000.hprof")]
pub(crate) struct Options {
    /// Heap dumps
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How often each program runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures and reports. A program that fails on a file is a result, not an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let snapshots: Vec<Snapshot> = options.files.iter().map(|path| Snapshot::given(path)).collect::<Result<_>>()?;
    let mut section = Section::new("dumps", &machine::describe(&options.heaplake)?);
    section.say(&format!("Medians of {} interleaved runs.", options.runs));
    let mut results = Vec::new();
    for snapshot in &snapshots {
        eprintln!("{}", snapshot.name);
        let outcomes = contest::hold(&entries(options, snapshot)?, options.runs.into(), None)?;
        section.say(&format!("### {} ({} MB)", snapshot.name, megabytes(Some(snapshot.bytes as f64))));
        end_to_end::costs(&mut section, &outcomes);
        end_to_end::stages(&mut section, &outcomes);
        results.push((snapshot, outcomes));
    }
    let measured: Vec<_> = results
        .iter()
        .map(|(snapshot, outcomes)| Measured { file: &snapshot.name, bytes: snapshot.bytes, outcomes })
        .collect();
    goals::report(&mut section, &GOALS, &measured);
    section.end(options.save)
}

fn entries(options: &Options, snapshot: &Snapshot) -> Result<Vec<Entry>> {
    let floor = [env::current_exe()?.into(), OsString::from("read"), snapshot.path.clone().into()];
    let mut entries = vec![Entry { name: FLOOR.to_owned(), command: floor.to_vec(), leaves: None }];
    for name in [ONE_THREAD, TWO_THREADS, EDGES, SIZES_ONLY, NO_NODES, SOME_MEMORY, SMALL_MEMORY] {
        let extra: Vec<&str> = name.split(' ').skip(1).collect();
        entries.push(end_to_end::analysis(&options.heaplake, snapshot, name, &extra)?);
    }
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
