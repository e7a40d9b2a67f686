//! Measures traces and Java dumps of extreme shapes: growth of time and memory, each run in a memory cgroup.

use crate::contest;
use crate::files;
use crate::group::Group;
use crate::machine;
use crate::measure::{self, Cost};
use crate::report::{Section, megabytes, number};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::trace_shapes::{self, SHAPES, Shape};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Largest allowed growth of a doubling beyond n log n.
const MOST_GROWTH: f64 = 1.3;

/// Seconds ignored: fixed costs and the noise of short runs.
const NOISE: f64 = 0.25;

/// Multiples of the number of events that are measured.
const TIMES: [u64; 3] = [1, 2, 4];

/// Bytes allowed beyond the budget.
const BEYOND: u64 = 48 << 20;

/// Options of `trace-shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench trace-shapes --save
  heaplake-bench trace-shapes --shapes levels,java-deep-stack --events 50000 --memory 256MiB")]
pub(crate) struct Options {
    /// Extreme events in the smallest file; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    events: u64,
    /// Names of shapes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    shapes: Vec<String>,
    /// Memory budget of the engine; its cgroup has 48 MiB more
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: Size,
    /// How often each file is read; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures and reports; a shape that grows too fast is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = Section::new("trace-shapes", &machine::describe(&options.heaplake)?);
    let nodes = TIMES.map(|times| options.events * times);
    let group = Group::create(options.memory.0 + BEYOND);
    if let Err(error) = &group {
        eprintln!("SKIPPED: the limit on memory, since there is no cgroup: {error:#}");
    }
    section.say(&format!(
        "Processor seconds for a million events of `replay --pprof --collapsed` and `analyze`, the fastest of {}, with a budget \
         of {} bytes{}, on files with {nodes:?} of what is extreme; growth is that of a doubling beyond n log n, at most \
         {MOST_GROWTH}.",
        options.runs,
        options.memory.0,
        if group.is_ok() { " in a memory cgroup of that and 48 MiB" } else { "" },
    ));
    let group = group.ok();
    let chosen = chosen(&options.shapes)?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for shape in chosen {
        eprintln!("{}: {}", shape.name, shape.says);
        let mut costs = Vec::new();
        for nodes in nodes {
            costs.push(cost(shape, nodes, group.as_ref(), options)?);
        }
        let growth = growth(nodes, &costs);
        if growth > MOST_GROWTH {
            failed.push(shape.name);
        }
        let of = |at: usize| number(Some(costs[at].cpu_seconds / nodes[at] as f64 * 1e6));
        let peak = megabytes(costs.last().map(|cost| cost.max_rss_bytes as f64));
        rows.push([shape.name.to_owned(), of(0), of(1), of(2), number(Some(growth)), peak]);
    }
    section.table(["shape", "n", "2n", "4n", "growth", "RSS MB of 4n"], &rows);
    section.end(options.save)?;
    ensure!(failed.is_empty(), "these grow faster than they may: {}", failed.join(", "));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Shape>> {
    if names.is_empty() {
        return Ok(SHAPES.iter().collect());
    }
    let find = |name: &String| trace_shapes::find(name).with_context(|| format!("there is no shape {name}"));
    names.iter().map(find).collect()
}

/// Largest growth of a doubling: ratio of times over ratio of n log n.
fn growth(nodes: [u64; 3], costs: &[Cost]) -> f64 {
    let work = |nodes: u64| nodes as f64 * (nodes as f64).log2();
    let of = |at: usize| {
        let [less, more] = [at, at + 1].map(|at| costs[at].cpu_seconds);
        (more - NOISE).max(0.0) / less.max(NOISE) / (work(nodes[at + 1]) / work(nodes[at]))
    };
    of(0).max(of(1))
}

/// Cheapest of several runs on a file.
fn cost(shape: &Shape, events: u64, group: Option<&Group>, options: &Options) -> Result<Cost> {
    let work = files::work()?;
    let (input, lake) = (work.join(format!("shape.{}", shape.ending)), work.join("lake"));
    let write = || {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(&input)?);
        shape.write(events, &mut to).and_then(|()| to.flush())
    };
    write().with_context(|| input.display().to_string())?;
    let mut best: Option<Cost> = None;
    for _ in 0..options.runs {
        let cost = once((&input, &lake), shape, group, options)?;
        best = Some(best.filter(|best| best.cpu_seconds <= cost.cpu_seconds).unwrap_or(cost));
    }
    fs::remove_file(&input)?;
    best.context("no run")
}

fn once((input, lake): (&Path, &Path), shape: &Shape, group: Option<&Group>, options: &Options) -> Result<Cost> {
    let mut command: Vec<OsString> = vec![options.heaplake.clone().into(), shape.command.into(), input.into()];
    command.extend(["--out".into(), lake.into(), "--snapshot".into(), "bench".into()]);
    command.push(format!("--memory={}", options.memory.0).into());
    if shape.command == "replay" {
        command.extend(["--sample-interval=1", "--pprof", "--collapsed"].map(OsString::from));
    }
    let run = measure::command(group.map(Group::folder), &command)?;
    // A leftover makes the next run fail with a clear error.
    let _ = fs::remove_dir_all(lake);
    if run.cost.exit_code != 0 {
        bail!("{}: {}", shape.name, contest::failure(&run));
    }
    Ok(run.cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_that_beyond_n_log_n() {
        let of = |seconds: [f64; 3]| {
            let cost = |cpu_seconds| Cost {
                wall_seconds: cpu_seconds,
                user_seconds: cpu_seconds,
                system_seconds: 0.0,
                cpu_seconds,
                max_rss_bytes: 0,
                read_bytes: 0,
                exit_code: 0,
            };
            growth([1 << 20, 1 << 21, 1 << 22], &seconds.map(cost))
        };
        assert!(of([10.0, 21.0, 44.1]) <= 1.0);
        assert!(of([10.0, 21.0, 80.0]) > MOST_GROWTH);
        assert!(of([10.0, 40.0, 80.0]) > MOST_GROWTH);
        // Very short times are not judged by their noise.
        assert!(of([0.1, 0.3, 0.4]) <= 1.0);
    }
}
