//! Measures a lake of many runs: a full rollup, a rollup with one more run, and SQL over the lake.

use crate::comparison::tell;
use crate::contest::{self, Entry, Outcome};
use crate::files;
use crate::goals::{self, Goal, Measured, goal};
use crate::lakes::{self, CLASSES};
use crate::measure;
use crate::report::number;
use crate::settings::Measuring;
use anyhow::{Context, Result};
use clap::Args;
use heaplake_generator::rng::Rng;
use std::fs;
use std::path::{Path, PathBuf};

/// Row names: the commands measured.
const ROLLUP: &str = "heaplake fleet rollup --memory 512MiB";
const GROUPS: &str = "heaplake sql --memory 512MiB, grouped by class";
const RELEASES: &str = "heaplake sql --memory 512MiB, grouped by release";

/// Runs per release in the goal.
const RUNS: usize = 500;

/// A sum over all rows of all runs.
const BY_CLASS: &str = "SELECT class, count(*) AS runs, sum(retained_bytes) AS bytes, max(retained_bytes) AS most FROM classes \
                        GROUP BY class ORDER BY bytes DESC, class LIMIT 20";
const BY_RELEASE: &str =
    "SELECT release, count(*) AS classes, avg(retained_bytes) AS bytes FROM classes GROUP BY release";

const GOALS: [Goal; 4] = [
    goal("rollup: seconds at most 60", 60.0, |on| on.of(ROLLUP, Outcome::wall)),
    goal("rollup: peak memory in MiB at most 512", 512.0, |on| {
        on.of(ROLLUP, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20))
    }),
    goal("sql by class: seconds at most 5", 5.0, |on| on.of(GROUPS, Outcome::wall)),
    goal("sql by class: peak memory in MiB at most 512", 512.0, |on| {
        on.of(GROUPS, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20))
    }),
];

/// Options of `fleet`.
#[derive(Args)]
#[command(after_help = "Example:\n  heaplake-bench fleet --sql target/sql/heaplake --save")]
pub(crate) struct Options {
    /// Runs of each of two releases
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    fleet: usize,
    /// A binary with the feature sql [default: none, and no SQL]
    #[arg(long, value_name = "PATH")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = options.measuring.section("fleet")?;
    let lake = lakes::two_releases(options.fleet)?;
    let out = files::work()?.join("rollup");
    let mut entries = vec![rollup(options, &lake, &out)];
    if let Some(sql) = &options.sql {
        for (name, statement) in [(GROUPS, BY_CLASS), (RELEASES, BY_RELEASE)] {
            let paths: [&Path; 3] = [sql, Path::new(statement), &lake];
            entries.push(Entry::new(name, "@ sql @ --lake @ --memory 512MiB", &paths, None));
        }
    }
    let outcomes = contest::hold(&entries, options.measuring.runs.into(), None)?;
    let name = format!("{} runs of {CLASSES} classes", 2 * options.fleet);
    tell(&mut section, &name, &outcomes);
    let bytes = lakes::table_bytes(&lake)?;
    let (read, seconds) = one_more(options, &lake, &out)?;
    section.say(&format!(
        "One more run in a lake of {} MB: the rollup takes {} s then, and reads {} MB: new runs, the rows that it kept of \
         the others, and its scratch.",
        number(Some(bytes as f64 / 1e6)),
        number(Some(seconds)),
        number(Some(read as f64 / 1e6)),
    ));
    goals::report(&mut section, &GOALS, &[Measured { file: &name, bytes, outcomes: &outcomes }]);
    section.end(options.measuring.engine.save)
}

fn rollup(options: &Options, lake: &Path, out: &Path) -> Entry {
    let line = "@ fleet rollup @ --quiet --memory 512MiB --out @";
    Entry::new(ROLLUP, line, &[&options.measuring.engine.heaplake, lake, out], Some(out))
}

/// Adds a run to a rolled-up lake and removes it again: bytes read and seconds of the second rollup.
fn one_more(options: &Options, lake: &Path, out: &Path) -> Result<(u64, f64)> {
    let command = rollup(options, lake, out).command;
    measure::command(None, &command)?;
    let added = lake.join("release=2").join("snapshot=run9999");
    lakes::one_run(lake, "2", 9999, &mut Rng::new(9))?;
    let run = measure::command(None, &command);
    fs::remove_dir_all(&added).with_context(|| format!("cannot remove {}", added.display()))?;
    let _ = fs::remove_dir_all(out);
    let cost = run?.cost;
    Ok((cost.read_bytes, cost.wall_seconds))
}
