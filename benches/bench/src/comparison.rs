//! Measures comparisons: two releases of many runs, and two snapshots of one process object by object.

use crate::contest::{self, Entry, Outcome};
use crate::files::{self, Snapshot};
use crate::goals::{self, Goal, Measured};
use crate::lakes::{self, CLASSES};
use crate::machine;
use crate::report::{Section, megabytes, number};
use crate::simulate;
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const DIFF: &str = "heaplake diff --memory 512MiB";
const DIFF_ONE_THREAD: &str = "heaplake diff --memory 512MiB --threads 1";
const OBJECTS: &str = "heaplake diff --objects --memory 512MiB";
const ANALYSIS: &str = "heaplake analyze";

/// Runs in the goal.
const RUNS: usize = 1000;

const GOALS: [Goal; 3] = [
    Goal {
        text: "2 x 1,000 runs of 10,000 classes: seconds at most 12",
        bound: 12.0,
        measure: |on| on.of(DIFF, Outcome::wall),
    },
    Goal {
        text: "2 x 1,000 runs of 10,000 classes: peak memory in MiB at most 512",
        bound: 512.0,
        measure: |on| on.of(DIFF, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20)),
    },
    Goal {
        text: "object by object: time at most that of one analysis",
        bound: 1.0,
        measure: |on| crate::report::ratio(on.of(OBJECTS, Outcome::wall), on.of(ANALYSIS, Outcome::wall)),
    },
];

/// Options of `comparison`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench comparison --save
  heaplake-bench comparison first.heapsnapshot second.heapsnapshot
  heaplake-bench comparison --simulate")]
pub(crate) struct Options {
    /// Two snapshots of one process, to be compared object by object
    #[arg(num_args = 2, value_names = ["BASE", "TARGET"])]
    snapshots: Vec<PathBuf>,
    /// Simulate tables with and without growth instead, and count the growth found
    #[arg(long)]
    simulate: bool,
    /// Runs of each release
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    fleet: usize,
    /// How often each setting runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.simulate {
        return simulate::run(options.save, &machine::describe(&options.heaplake)?);
    }
    let mut section = Section::new("comparison", &machine::describe(&options.heaplake)?);
    section.say(&format!("Medians of {} interleaved runs.", options.runs));
    let fleet = lakes::two_releases(options.fleet)?;
    let outcomes = contest::hold(&of_fleet(options, &fleet)?, options.runs.into(), None)?;
    let name = format!("2 x {} runs of {CLASSES} classes", options.fleet);
    tell(&mut section, &name, &outcomes);
    let mut results = vec![(name, lakes::table_bytes(&fleet)?, outcomes)];
    if let [base, target] = options.snapshots.as_slice() {
        let snapshot = Snapshot::given(target)?;
        let outcomes = contest::hold(&of_objects(options, base, target)?, options.runs.into(), None)?;
        tell(&mut section, &format!("objects of {}", snapshot.name), &outcomes);
        results.push((snapshot.name.clone(), snapshot.bytes, outcomes));
    }
    let measured: Vec<_> =
        results.iter().map(|(name, bytes, outcomes)| Measured { file: name, bytes: *bytes, outcomes }).collect();
    goals::report(&mut section, &GOALS, &measured);
    section.end(options.save)
}

/// Adds the time and memory of every entry.
pub(crate) fn tell(section: &mut Section, name: &str, outcomes: &[Outcome]) {
    section.say(&format!("### {name}"));
    let row = |outcome: &Outcome| {
        let why = outcome.runs.as_ref().err().map(|why| format!(": {why}")).unwrap_or_default();
        let (wall, cpu) = (number(outcome.wall()), number(outcome.cpu()));
        [format!("{}{why}", outcome.name), wall, cpu, megabytes(outcome.rss())]
    };
    let rows: Vec<_> = outcomes.iter().map(row).collect();
    section.table(["", "seconds", "processor seconds", "peak MB"], &rows);
}

fn of_fleet(options: &Options, lake: &Path) -> Result<Vec<Entry>> {
    let out = files::work()?.join("comparison");
    let entry = |name: &str, more: &[&str]| {
        let mut command: Vec<OsString> = vec![options.heaplake.clone().into(), "diff".into()];
        command.extend(["release=1", "release=2", "--quiet", "--memory", "512MiB", "--lake"].map(OsString::from));
        command.extend([lake.into(), "--out".into(), out.clone().into()]);
        command.extend(more.iter().map(OsString::from));
        Entry { name: name.to_owned(), command, leaves: Some(out.clone()) }
    };
    Ok(vec![entry(DIFF, &[]), entry(DIFF_ONE_THREAD, &["--threads", "1"])])
}

/// Analyses both snapshots first, into a lake that is kept.
fn of_objects(options: &Options, base: &Path, target: &Path) -> Result<Vec<Entry>> {
    let work = files::work()?;
    let lake = work.join("objects-lake");
    let analyse = |snapshot: &Path, lake: &Path, name: &str| -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![options.heaplake.clone().into(), "analyze".into(), snapshot.into()];
        command.extend(["--quiet", "--snapshot", name, "--out"].map(OsString::from));
        command.push(lake.into());
        command
    };
    for (snapshot, name) in [(base, "base"), (target, "target")] {
        crate::measure::command(None, &analyse(snapshot, &lake, name))?;
    }
    let (out, other) = (work.join("comparison"), work.join("analysis"));
    let mut command: Vec<OsString> = vec![options.heaplake.clone().into(), "diff".into()];
    command.extend(["base", "target"].map(|name| lake.join(format!("release=none/snapshot={name}")).into()));
    command.extend(["--objects", "--quiet", "--memory", "512MiB", "--out"].map(OsString::from));
    command.push(out.clone().into());
    Ok(vec![
        Entry { name: OBJECTS.to_owned(), command, leaves: Some(out) },
        Entry { name: ANALYSIS.to_owned(), command: analyse(target, &other, "target"), leaves: Some(other) },
    ])
}
