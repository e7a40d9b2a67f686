//! Measures whole analyses: heaplake in three settings against the floor and, on request, other programs.

use crate::contest::{self, Entry, Outcome, median};
use crate::files::{self, Snapshot};
use crate::goals::{self, Goal};
use crate::peers;
use crate::report::{NONE, Section, megabytes, number, ratio};
use crate::settings::{FLOOR, Measuring, ONE_THREAD, SIZES_ONLY, SMALL_MEMORY, TWO_THREADS};
use anyhow::Result;
use clap::Args;
use heaplake::memory::Size;
use std::path::{Path, PathBuf};

/// Options of `end-to-end`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench end-to-end --save
  heaplake-bench end-to-end --peers --runs 5 --sizes 100MB production.heapsnapshot")]
pub(crate) struct Options {
    /// Real snapshots to measure too
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Sizes of generated snapshots; `--sizes ''` for none
    #[arg(long, value_name = "SIZE,...", default_value = "100MB,600MB,800MB")]
    sizes: String,
    /// Measure the other programs too (install them with benches/peers/install.sh)
    #[arg(long)]
    peers: bool,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports. A program that fails on a file is a result, not an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let snapshots = snapshots(options)?;
    let name = if options.peers { "peers" } else { "end-to-end" };
    let mut section = options.measuring.section(name)?;
    measure(&mut section, &options.measuring, &snapshots, |snapshot| entries(options, snapshot), &goals::SNAPSHOTS)?;
    section.end(options.measuring.engine.save)
}

/// Measures the entries of every snapshot, and judges the goals.
pub(crate) fn measure(
    section: &mut Section,
    measuring: &Measuring,
    snapshots: &[Snapshot],
    entries: impl Fn(&Snapshot) -> Result<Vec<Entry>>,
    goals: &[Goal],
) -> Result<()> {
    let mut results = Vec::new();
    for snapshot in snapshots {
        eprintln!("{}", snapshot.name);
        let outcomes = contest::hold(&entries(snapshot)?, measuring.runs.into(), None)?;
        section.say(&format!("### {} ({} MB)", snapshot.name, megabytes(Some(snapshot.bytes as f64))));
        costs(section, &outcomes);
        stages(section, &outcomes);
        results.push((snapshot, outcomes));
    }
    goals::report(section, goals, &goals::measured(results.iter().map(|(snapshot, outcomes)| (*snapshot, outcomes))));
    Ok(())
}

fn snapshots(options: &Options) -> Result<Vec<Snapshot>> {
    files::work()?;
    let sizes = options.sizes.split(',').filter(|size| !size.is_empty());
    let generated = sizes.map(|size| Snapshot::generated(size.parse::<Size>().map_err(anyhow::Error::msg)?.0));
    generated.chain(options.files.iter().map(|path| Snapshot::given(path))).collect()
}

fn entries(options: &Options, snapshot: &Snapshot) -> Result<Vec<Entry>> {
    let names = [ONE_THREAD, TWO_THREADS, SMALL_MEMORY, SIZES_ONLY];
    let mut entries = settings(&options.measuring.engine.heaplake, snapshot, &names)?;
    if options.peers {
        entries.extend(peers::entries(&snapshot.path)?);
    }
    Ok(entries)
}

/// The floor, and an analysis in each setting; the names are also the command-line arguments.
pub(crate) fn settings(heaplake: &Path, snapshot: &Snapshot, names: &[&str]) -> Result<Vec<Entry>> {
    let mut entries = vec![Entry::floor(&snapshot.path)?];
    for name in names {
        entries.push(analysis(heaplake, snapshot, name, name.trim_start_matches("heaplake"))?);
    }
    Ok(entries)
}

/// An analysis into an empty lake.
pub(crate) fn analysis(heaplake: &Path, snapshot: &Snapshot, name: &str, extra: &str) -> Result<Entry> {
    let lake = files::work()?.join("lake");
    Ok(Entry::new(name, &format!("@ analyze @ -v --out @{extra}"), &[heaplake, &snapshot.path, &lake], Some(&lake)))
}

/// Adds a table of each program's costs.
pub(crate) fn costs(section: &mut Section, outcomes: &[Outcome]) {
    let of = |name: &str| outcomes.iter().find(|outcome| outcome.name == name);
    let (ours, floor) = (of(ONE_THREAD), of(FLOOR));
    let cpu = |outcome: Option<&Outcome>| outcome.and_then(Outcome::cpu);
    let rss = |outcome: Option<&Outcome>| outcome.and_then(Outcome::rss);
    let rows: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            let it = Some(outcome);
            [
                outcome.name.clone(),
                number(outcome.cpu()),
                number(outcome.wall()),
                megabytes(outcome.rss()),
                number(ratio(cpu(it), cpu(ours))),
                number(ratio(cpu(it), cpu(floor))),
                number(ratio(rss(it), rss(ours))),
                number(ratio(rss(it), rss(floor))),
            ]
        })
        .collect();
    section.table(
        ["program", "CPU s", "wall s", "RSS MB", "CPU / heaplake", "CPU / floor", "RSS / heaplake", "RSS / floor"],
        &rows,
    );
    for outcome in outcomes {
        if let Err(why) = &outcome.runs {
            section.say(&format!("{}: no result ({why})", outcome.name));
        }
    }
}

/// Parses a stage's line of the engine's log: `INPUT: STAGE: N rows in S s`.
pub(crate) fn stage(line: &str) -> Option<(&str, u64, f64)> {
    let mut parts = line.trim().rsplitn(3, ": ");
    let (rows, rest) = parts.next()?.split_once(" rows in ")?;
    let name = parts.next()?;
    parts.next()?;
    Some((name, rows.parse().ok()?, rest.strip_suffix(" s")?.parse().ok()?))
}

/// Adds the median seconds of every stage, one column per setting.
pub(crate) fn stages(section: &mut Section, outcomes: &[Outcome]) {
    let settings = [ONE_THREAD, TWO_THREADS, SMALL_MEMORY].map(|name| {
        let outcome = outcomes.iter().find(|outcome| outcome.name == name);
        let runs = outcome.and_then(|outcome| outcome.runs.as_ref().ok()).map_or(&[][..], Vec::as_slice);
        runs.iter().map(|run| run.log.lines().filter_map(stage).collect()).collect::<Vec<Vec<_>>>()
    });
    let Some(first) = settings.iter().flatten().next() else { return };
    let rows: Vec<_> = first
        .iter()
        .map(|&(name, rows, _)| {
            let [one, two, small] = settings.each_ref().map(|runs| {
                let own = runs.iter().flatten().filter(|(other, ..)| *other == name);
                let seconds: Vec<f64> = own.map(|(.., seconds)| *seconds).collect();
                if seconds.is_empty() { NONE.to_owned() } else { format!("{:.2}", median(seconds)) }
            });
            [name.to_owned(), rows.to_string(), one, two, small]
        })
        .collect();
    section.table(["stage", "rows", "s, --threads 1", "s, --threads 2", "s, --memory 256MiB"], &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines() {
        assert_eq!(stage("a: b.heapsnapshot: class rows: 106777 rows in 0.02 s"), Some(("class rows", 106_777, 0.02)));
        assert_eq!(stage("heaplake: something else"), None);
    }
}
