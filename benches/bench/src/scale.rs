//! Measures files much larger than memory: growth of time and memory with the input, and correctness of the answers.

use crate::answers::{self, Verdict};
use crate::contest::{Entry, failure};
use crate::end_to_end::analysis;
use crate::files::{self, Snapshot};
use crate::group::Group;
use crate::measure::{self, Cost, Run};
use crate::report::{self, NONE, Section, megabytes, number, ratio};
use crate::settings::{Engine, FLOOR};
use anyhow::{Context, Result};
use clap::Args;
use heaplake::memory::Size;
use heaplake_schemas::run;
use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Options of `scale`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench scale --save
  heaplake-bench scale --sizes 100MB,1GB --limits none,256MiB/320MiB")]
pub(crate) struct Options {
    /// Sizes of the generated snapshots, ascending; each needs about three times its size of disk
    #[arg(long, value_name = "SIZE,...", default_value = "1GB,10GB", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Budgets, each tried with each size: `none` for the default, or a size; after a slash, the limit of a memory cgroup
    /// to run in, where permitted
    #[arg(long, value_name = "LIMIT,...", default_value = "none,512MiB/640MiB", value_delimiter = ',')]
    limits: Vec<Limit>,
    #[command(flatten)]
    engine: Engine,
}

/// Memory limits of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    memory: Option<u64>,
    cgroup: Option<u64>,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        let (memory, cgroup) = text.split_once('/').map_or((text, None), |(memory, cgroup)| (memory, Some(cgroup)));
        let memory = if memory == "none" { None } else { Some(size(memory)?) };
        Ok(Self { memory, cgroup: cgroup.map(size).transpose()? })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.memory {
            None => write!(to, "default")?,
            Some(memory) => write!(to, "{}", report::size(memory))?,
        }
        self.cgroup.map_or(Ok(()), |cgroup| write!(to, " in a cgroup of {}", report::size(cgroup)))
    }
}

/// One size under one limit, measured.
struct Point {
    name: String,
    limit: Limit,
    bytes: u64,
    floor: Cost,
    cost: Cost,
    /// The run's summary and verdict, or why the run failed.
    outcome: Result<(run::Summary, Verdict), String>,
}

/// Measures and reports; wrong answers are an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    files::work()?;
    let mut section = options.engine.section("scale")?;
    let mut points = Vec::new();
    for size in &options.sizes {
        for limit in &options.limits {
            points.push(point(options, size.0, limit, &mut section)?);
        }
    }
    table(&mut section, &points);
    growth(&mut section, &points);
    let wrong = verdicts(&mut section, &points);
    section.end(options.engine.save)?;
    anyhow::ensure!(wrong == 0, "{wrong} answers are wrong");
    Ok(())
}

/// Creates the cgroup if one is wanted. The report says so if that fails.
fn enter(limit: &mut Limit, section: &mut Section) -> Option<Group> {
    match Group::create(limit.cgroup?) {
        Ok(group) => Some(group),
        Err(why) => {
            eprintln!("CGROUP SKIPPED: no permission: {why:#}");
            section.say("**A memory cgroup was skipped: no permission.**");
            limit.cgroup = None;
            None
        }
    }
}

fn point(options: &Options, size: u64, limit: &Limit, section: &mut Section) -> Result<Point> {
    let snapshot = Snapshot::generated(size)?;
    let mut limit = limit.clone();
    let group = enter(&mut limit, section);
    let group = group.as_ref().map(Group::folder);
    eprintln!("{}: {FLOOR}", snapshot.name);
    let floor = measure::command(group, &Entry::floor(&snapshot.path)?.command)?.cost;
    eprintln!("{}: heaplake, budget {limit}", snapshot.name);
    let memory = limit.memory.map_or_else(String::new, |memory| format!(" --memory={memory}"));
    let entry = analysis(&options.engine.heaplake, &snapshot, "heaplake", &format!(" --snapshot scale{memory}"))?;
    let run = measure::command(group, &entry.command)?;
    let lake = entry.leaves.context("an analysis leaves a lake")?;
    let outcome = judge(&run, &lake.join("release=none/snapshot=scale"), &snapshot)?;
    // A leftover makes the next run fail with a clear error.
    let _ = fs::remove_dir_all(&lake);
    Ok(Point { name: snapshot.name, limit, bytes: snapshot.bytes, floor, cost: run.cost, outcome })
}

fn judge(run: &Run, folder: &Path, snapshot: &Snapshot) -> Result<Result<(run::Summary, Verdict), String>> {
    if run.cost.exit_code != 0 {
        return Ok(Err(failure(run)));
    }
    eprintln!("{}: comparing with the planted answers", snapshot.name);
    let document = fs::read(folder.join(run::FILE)).context("the run has no document")?;
    let summary = serde_json::from_slice::<run::Run>(&document)?.summary;
    Ok(Ok((summary, answers::check(folder, &files::answers(&snapshot.path))?)))
}

fn table(section: &mut Section, points: &[Point]) {
    let head = [
        "file",
        "budget",
        "MB",
        "nodes",
        "edges",
        "CPU s",
        "wall s",
        "RSS MB",
        "scratch / file",
        "CPU / floor",
        "wall / first",
        "answers",
    ];
    let rows: Vec<_> = points.iter().map(|point| row(point, points)).collect();
    section.table(head, &rows);
}

/// The cells of a point in the columns of [`table`].
fn row(point: &Point, points: &[Point]) -> [String; 12] {
    let run = point.outcome.as_ref().ok();
    let count = |of: fn(&run::Summary) -> u64| run.map_or_else(|| NONE.to_owned(), |(run, _)| of(run).to_string());
    [
        point.name.clone(),
        point.limit.to_string(),
        megabytes(Some(point.bytes as f64)),
        count(|run| run.node_count),
        count(|run| run.edge_count),
        number(run.map(|_| point.cost.cpu_seconds)),
        number(run.map(|_| point.cost.wall_seconds)),
        megabytes(run.map(|_| point.cost.max_rss_bytes as f64)),
        number(run.and_then(|(run, _)| ratio(Some(run.scratch_bytes as f64), Some(point.bytes as f64)))),
        number(run.and_then(|_| ratio(Some(point.cost.cpu_seconds), Some(point.floor.cpu_seconds)))),
        number(run.and_then(|_| {
            let first = points.iter().find(|first| first.name == point.name && first.outcome.is_ok());
            ratio(Some(point.cost.wall_seconds), first.map(|first| first.cost.wall_seconds))
        })),
        match &point.outcome {
            Ok((_, verdict)) if verdict.wrong.is_empty() => format!("all {} right", verdict.compared),
            Ok((_, verdict)) => format!("**{} of {} wrong**", verdict.wrong.len(), verdict.compared),
            Err(_) => "no result".to_owned(),
        },
    ]
}

/// Adds the growth of every cost from each size to the next under the same limit.
fn growth(section: &mut Section, points: &[Point]) {
    let done: Vec<&Point> = points.iter().filter(|point| point.outcome.is_ok()).collect();
    let next = |at: usize| done[at + 1..].iter().find(|later| later.limit == done[at].limit);
    let rows: Vec<_> = (0..done.len())
        .filter_map(|at| Some((done[at], *next(at)?)))
        .map(|(small, large)| {
            let times = |of: fn(&Point) -> f64| number(ratio(Some(of(large)), Some(of(small))));
            [
                format!("{} to {}", small.name, large.name),
                small.limit.to_string(),
                times(|point| point.bytes as f64),
                times(|point| point.cost.cpu_seconds),
                times(|point| point.cost.wall_seconds),
                times(|point| point.cost.max_rss_bytes as f64),
            ]
        })
        .collect();
    if !rows.is_empty() {
        section.say("### Growth, times");
        section.table(["from, to", "budget", "file", "CPU", "wall", "RSS"], &rows);
    }
}

/// Reports wrong and missing answers; returns the number of wrong ones.
fn verdicts(section: &mut Section, points: &[Point]) -> usize {
    let mut wrong = 0;
    for point in points {
        match &point.outcome {
            Ok((_, verdict)) => {
                wrong += verdict.wrong.len();
                verdict.wrong.iter().take(10).for_each(|what| eprintln!("{}: {what}", point.name));
            }
            Err(why) => section.say(&format!("{}: no result ({why})", point.name)),
        }
    }
    wrong
}
