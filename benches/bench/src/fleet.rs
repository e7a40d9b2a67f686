//! Measures a lake of many runs: a full rollup, a rollup with one more run, and SQL over the lake.

use crate::comparison::tell;
use crate::contest::{self, Entry, Outcome};
use crate::goals::{self, Goal, Measured};
use crate::lakes::{self, CLASSES};
use crate::measure;
use crate::report::{Section, number};
use crate::{files, machine};
use anyhow::{Context, Result};
use clap::Args;
use heaplake_generator::rng::Rng;
use std::ffi::OsString;
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
    Goal { text: "rollup: seconds at most 60", bound: 60.0, measure: |on| on.of(ROLLUP, Outcome::wall) },
    Goal {
        text: "rollup: peak memory in MiB at most 512",
        bound: 512.0,
        measure: |on| on.of(ROLLUP, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20)),
    },
    Goal { text: "sql by class: seconds at most 5", bound: 5.0, measure: |on| on.of(GROUPS, Outcome::wall) },
    Goal {
        text: "sql by class: peak memory in MiB at most 512",
        bound: 512.0,
        measure: |on| on.of(GROUPS, Outcome::rss).map(|bytes| bytes / f64::from(1 << 20)),
    },
];

/// Options of `fleet`.
#[derive(Args)]
#[command(after_help = "Example:\n  heaplake-bench fleet --sql target/sql/heaplake --save")]
pub(crate) struct Options {
    /// Runs of each of two releases
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    fleet: usize,
    /// How often each setting runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// A binary with the feature sql [default: none, and no SQL]
    #[arg(long, value_name = "PATH")]
    sql: Option<PathBuf>,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = Section::new("fleet", &machine::describe(&options.heaplake)?);
    section.say(&format!("Medians of {} interleaved runs.", options.runs));
    let lake = lakes::two_releases(options.fleet)?;
    let out = files::work()?.join("rollup");
    let mut entries = vec![Entry {
        name: ROLLUP.to_owned(),
        command: rollup(&options.heaplake, &lake, &out),
        leaves: Some(out.clone()),
    }];
    if let Some(sql) = &options.sql {
        for (name, statement) in [(GROUPS, BY_CLASS), (RELEASES, BY_RELEASE)] {
            let mut command: Vec<OsString> = vec![sql.into(), "sql".into(), statement.into(), "--lake".into()];
            command.extend([lake.clone().into(), "--memory".into(), "512MiB".into()]);
            entries.push(Entry { name: name.to_owned(), command, leaves: None });
        }
    }
    let outcomes = contest::hold(&entries, options.runs.into(), None)?;
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
    section.end(options.save)
}

fn rollup(heaplake: &Path, lake: &Path, out: &Path) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![heaplake.into(), "fleet".into(), "rollup".into(), lake.into()];
    command.extend(["--quiet", "--memory", "512MiB", "--out"].map(OsString::from));
    command.push(out.into());
    command
}

/// Adds a run to a rolled-up lake and removes it again: bytes read and seconds of the second rollup.
fn one_more(options: &Options, lake: &Path, out: &Path) -> Result<(u64, f64)> {
    let command = rollup(&options.heaplake, lake, out);
    measure::command(None, &command)?;
    let added = lake.join("release=2").join("snapshot=run9999");
    lakes::one_run(lake, "2", 9999, &mut Rng::new(9))?;
    let run = measure::command(None, &command);
    fs::remove_dir_all(&added).with_context(|| format!("cannot remove {}", added.display()))?;
    let _ = fs::remove_dir_all(out);
    let cost = run?.cost;
    Ok((cost.read_bytes, cost.wall_seconds))
}
