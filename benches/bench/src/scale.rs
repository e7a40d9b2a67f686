//! Files much larger than memory: what time and memory do as the input grows, and whether the answers stay right.

use crate::answers::{self, Verdict};
use crate::contest::failure;
use crate::end_to_end::{FLOOR, analysis};
use crate::files::{self, Snapshot};
use crate::group::Group;
use crate::machine;
use crate::measure::{self, Cost, Run};
use crate::report::{self, NONE, Section, megabytes, number, ratio};
use anyhow::{Context, Result};
use clap::Args;
use heaplake::memory::Size;
use heaplake_schemas::run;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Options of `scale`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench scale --save
  heaplake-bench scale --sizes 100MB,1GB --memory 256MiB --cgroup 320MiB")]
pub struct Options {
    /// Sizes of the generated snapshots, ascending; each needs about three times its size of disk
    #[arg(long, value_name = "SIZE,...", default_value = "1GB,10GB", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// The budget, the same for all
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: Size,
    /// Run inside a memory cgroup with this limit, where that is permitted
    #[arg(long, value_name = "SIZE")]
    cgroup: Option<Size>,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// One size, measured.
struct Point {
    name: String,
    bytes: u64,
    floor: Cost,
    cost: Cost,
    /// What the run says, and whether it is right; or why there is no run.
    outcome: Result<(run::Summary, Verdict), String>,
}

/// Measures, and reports.
///
/// # Errors
/// When something cannot be run or written, and when answers are wrong.
pub fn run(options: &Options) -> Result<()> {
    files::work()?;
    let mut section = Section::new("scale", &machine::describe(&options.heaplake)?);
    let group = enter(options, &mut section);
    let mut points = Vec::new();
    for size in &options.sizes {
        points.push(point(options, size.0, group.as_ref().map(Group::folder))?);
    }
    table(&mut section, &points);
    growth(&mut section, &points);
    let wrong = verdicts(&mut section, &points);
    section.end(options.save)?;
    anyhow::ensure!(wrong == 0, "{wrong} answers are wrong");
    Ok(())
}

/// The cgroup, if one is wanted and can be had. The report says which limit held, so that nobody is misled.
fn enter(options: &Options, section: &mut Section) -> Option<Group> {
    let budget = format!("One run for each size with `--memory {}`", report::size(options.memory.0));
    let Some(limit) = options.cgroup else {
        section.say(&format!("{budget}, no cgroup."));
        return None;
    };
    match Group::create(limit.0) {
        Ok(group) => {
            section.say(&format!("{budget}, in a memory cgroup of {}.", report::size(limit.0)));
            Some(group)
        }
        Err(why) => {
            eprintln!("CGROUP SKIPPED: no permission: {why:#}");
            section.say(&format!("{budget}. **The memory cgroup was skipped: no permission.**"));
            None
        }
    }
}

fn point(options: &Options, size: u64, group: Option<&Path>) -> Result<Point> {
    let snapshot = Snapshot::generated(size)?;
    let read = [std::env::current_exe()?.into(), OsString::from("read"), snapshot.path.clone().into()];
    eprintln!("{}: {FLOOR}", snapshot.name);
    let floor = measure::command(group, &read)?.cost;
    eprintln!("{}: heaplake", snapshot.name);
    let memory = options.memory.0.to_string();
    let entry = analysis(&options.heaplake, &snapshot, "heaplake", &["--memory", &memory, "--snapshot", "scale"])?;
    let run = measure::command(group, &entry.command)?;
    let lake = entry.leaves.context("an analysis leaves a lake")?;
    let outcome = judge(&run, &lake.join("release=none/snapshot=scale"), &snapshot)?;
    // What cannot be removed is in the way of the next run, which will say so.
    let _ = fs::remove_dir_all(&lake);
    Ok(Point { name: snapshot.name, bytes: snapshot.bytes, floor, cost: run.cost, outcome })
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
    let head = ["file", "MB", "nodes", "edges", "CPU s", "wall s", "RSS MB", "scratch MB", "CPU / floor", "answers"];
    let rows: Vec<_> = points
        .iter()
        .map(|point| {
            let run = point.outcome.as_ref().ok();
            let count =
                |of: fn(&run::Summary) -> u64| run.map_or_else(|| NONE.to_owned(), |(run, _)| of(run).to_string());
            [
                point.name.clone(),
                megabytes(Some(point.bytes as f64)),
                count(|run| run.node_count),
                count(|run| run.edge_count),
                number(run.map(|_| point.cost.cpu_seconds)),
                number(run.map(|_| point.cost.wall_seconds)),
                megabytes(run.map(|_| point.cost.max_rss_bytes as f64)),
                megabytes(run.map(|(run, _)| run.scratch_bytes as f64)),
                number(run.and_then(|_| ratio(Some(point.cost.cpu_seconds), Some(point.floor.cpu_seconds)))),
                match &point.outcome {
                    Ok((_, verdict)) if verdict.wrong.is_empty() => format!("all {} right", verdict.compared),
                    Ok((_, verdict)) => format!("**{} of {} wrong**", verdict.wrong.len(), verdict.compared),
                    Err(_) => "no result".to_owned(),
                },
            ]
        })
        .collect();
    section.table(head, &rows);
}

/// How everything grows from each size to the next.
fn growth(section: &mut Section, points: &[Point]) {
    let rows: Vec<_> = points
        .windows(2)
        .filter(|pair| pair.iter().all(|point| point.outcome.is_ok()))
        .map(|pair| {
            let times = |of: fn(&Point) -> f64| number(ratio(Some(of(&pair[1])), Some(of(&pair[0]))));
            [
                format!("{} to {}", pair[0].name, pair[1].name),
                times(|point| point.bytes as f64),
                times(|point| point.cost.cpu_seconds),
                times(|point| point.cost.wall_seconds),
                times(|point| point.cost.max_rss_bytes as f64),
            ]
        })
        .collect();
    if !rows.is_empty() {
        section.say("### Growth, times");
        section.table(["from, to", "file", "CPU", "wall", "RSS"], &rows);
    }
}

/// Says what is wrong or missing; the number of wrong answers.
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
