//! Measures comparisons: two releases of many runs, and two snapshots of one process object by object.

use crate::contest::{self, Entry, Outcome};
use crate::files::{self, Snapshot};
use crate::goals::{self, Goal, Measured, goal};
use crate::lakes::{self, CLASSES};
use crate::report::{Section, megabytes, number};
use crate::settings::Measuring;
use crate::simulate;
use anyhow::Result;
use clap::Args;
use std::path::{Path, PathBuf};

const DIFF: &str = "heaplake diff --memory 512MiB";
const DIFF_ONE_THREAD: &str = "heaplake diff --memory 512MiB --threads 1";
const OBJECTS: &str = "heaplake diff --objects --memory 512MiB";
const ANALYSIS: &str = "heaplake analyze";

/// Runs in the goal.
const RUNS: usize = 1000;

const GOALS: [Goal; 3] = [
    goal("2 x 1,000 runs of 10,000 classes: seconds at most 12", 12.0, |on| on.of(DIFF, Outcome::wall)),
    goal("2 x 1,000 runs of 10,000 classes: peak memory in MiB at most 512", 512.0, |on| {
        on.of(DIFF, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20))
    }),
    goal("object by object: time at most that of one analysis", 1.0, |on| {
        crate::report::ratio(on.of(OBJECTS, Outcome::wall), on.of(ANALYSIS, Outcome::wall))
    }),
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
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.simulate {
        return simulate::run(&options.measuring.engine);
    }
    let mut section = options.measuring.section("comparison")?;
    let fleet = lakes::two_releases(options.fleet)?;
    let outcomes = contest::hold(&of_fleet(options, &fleet)?, options.measuring.runs.into(), None)?;
    let name = format!("2 x {} runs of {CLASSES} classes", options.fleet);
    tell(&mut section, &name, &outcomes);
    let mut results = vec![(name, lakes::table_bytes(&fleet)?, outcomes)];
    if let [base, target] = options.snapshots.as_slice() {
        let snapshot = Snapshot::given(target)?;
        let outcomes = contest::hold(&of_objects(options, base, target)?, options.measuring.runs.into(), None)?;
        tell(&mut section, &format!("objects of {}", snapshot.name), &outcomes);
        results.push((snapshot.name.clone(), snapshot.bytes, outcomes));
    }
    let measured: Vec<_> =
        results.iter().map(|(name, bytes, outcomes)| Measured { file: name, bytes: *bytes, outcomes }).collect();
    goals::report(&mut section, &GOALS, &measured);
    section.end(options.measuring.engine.save)
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
    let entry = |name: &str, more: &str| {
        let line = format!("@ diff release=1 release=2 --quiet --memory 512MiB --lake @ --out @{more}");
        Entry::new(name, &line, &[&options.measuring.engine.heaplake, lake, &out], Some(&out))
    };
    Ok(vec![entry(DIFF, ""), entry(DIFF_ONE_THREAD, " --threads 1")])
}

/// Analyses both snapshots first, into a lake that is kept.
fn of_objects(options: &Options, base: &Path, target: &Path) -> Result<Vec<Entry>> {
    let (work, heaplake) = (files::work()?, &options.measuring.engine.heaplake);
    let lake = work.join("objects-lake");
    let analyse = |snapshot: &Path, lake: &Path, name: &str| {
        Entry::new(
            ANALYSIS,
            &format!("@ analyze @ --quiet --snapshot {name} --out @"),
            &[heaplake, snapshot, lake],
            Some(lake),
        )
    };
    for (snapshot, name) in [(base, "base"), (target, "target")] {
        crate::measure::command(None, &analyse(snapshot, &lake, name).command)?;
    }
    let (out, other) = (work.join("comparison"), work.join("analysis"));
    let [base, next] = ["base", "target"].map(|name| lake.join(format!("release=none/snapshot={name}")));
    let line = "@ diff @ @ --objects --quiet --memory 512MiB --out @";
    Ok(vec![Entry::new(OBJECTS, line, &[heaplake, &base, &next, &out], Some(&out)), analyse(target, &other, "target")])
}
