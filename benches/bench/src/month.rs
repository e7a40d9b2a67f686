//! Measures a lake of a month: tens of thousands of small runs of many releases.

use crate::comparison::tell;
use crate::contest::{self, Entry, Outcome};
use crate::files;
use crate::goals::{self, Goal, Measured, goal};
use crate::lakes;
use crate::settings::Measuring;
use anyhow::Result;
use clap::Args;
use std::path::{Path, PathBuf};

/// Row names: the commands measured.
const LS: &str = "heaplake ls";
const SQL: &str = "heaplake sql --memory 256MiB, grouped by class";
const FIRST: &str = "heaplake fleet rollup --memory 512MiB";
const AGAIN: &str = "the same, unchanged";
const DIFF: &str = "heaplake diff --memory 256MiB of 1,000 and 1,000 runs";

/// A sum over all rows of all runs.
const BY_CLASS: &str = "SELECT class, count(*) AS runs, sum(retained_bytes) AS bytes FROM classes GROUP BY class \
                        ORDER BY bytes DESC, class LIMIT 20";

const GOALS: [Goal; 5] = [
    goal("ls of 50,000 runs: seconds at most 0.5", 0.5, |on| on.of(LS, Outcome::wall)),
    goal("sql by class: seconds at most 5", 5.0, |on| on.of(SQL, Outcome::wall)),
    goal("first rollup: seconds at most 25", 25.0, |on| on.of(FIRST, Outcome::wall)),
    goal("unchanged rollup: seconds at most 0.5", 0.5, |on| on.of(AGAIN, Outcome::wall)),
    goal("diff: seconds at most 3", 3.0, |on| on.of(DIFF, Outcome::wall)),
];

/// Options of `month`.
#[derive(Args)]
#[command(after_help = "Example:\n  heaplake-bench month --sql target/sql/heaplake --save")]
pub(crate) struct Options {
    /// Runs; a release has 1,000
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    fleet: usize,
    /// A binary with the feature sql [default: none, and no SQL]
    #[arg(long, value_name = "PATH")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = options.measuring.section("month")?;
    let lake = lakes::small_runs(options.fleet)?;
    let work = files::work()?;
    let heaplake = &*options.measuring.engine.heaplake;
    crate::measure::command(None, &Entry::new("index", "@ lake index @", &[heaplake, &lake], None).command)?;
    let (first, again) = (work.join("month-first"), work.join("month-again"));
    let rollup = |name: &str, out: &Path, anew: bool| {
        let line = "@ fleet rollup @ --quiet --memory 512MiB --out @";
        Entry::new(name, line, &[heaplake, &lake, out], anew.then_some(out))
    };
    crate::measure::command(None, &rollup(AGAIN, &again, false).command)?;
    let mut entries = vec![
        Entry::new(LS, "@ ls @", &[heaplake, &lake], None),
        rollup(FIRST, &first, true),
        rollup(AGAIN, &again, false),
        Entry::new(DIFF, "@ diff release=1 release=2 --lake @ --quiet --memory 256MiB", &[heaplake, &lake], None),
    ];
    if let Some(sql) = &options.sql {
        let paths: [&Path; 3] = [sql, Path::new(BY_CLASS), &lake];
        entries.push(Entry::new(SQL, "@ sql @ --lake @ --memory 256MiB", &paths, None));
    }
    let outcomes = contest::hold(&entries, options.measuring.runs.into(), None)?;
    let name = format!("{} runs of {} classes", options.fleet, lakes::FEW_CLASSES);
    tell(&mut section, &name, &outcomes);
    let bytes = lakes::table_bytes(&lake)?;
    goals::report(&mut section, &GOALS, &[Measured { file: &name, bytes, outcomes: &outcomes }]);
    section.end(options.measuring.engine.save)
}
