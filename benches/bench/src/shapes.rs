//! Measures heaps of extreme shapes: growth of time and memory.

use crate::contest;
use crate::files;
use crate::machine;
use crate::measure::{self, Cost};
use crate::report::{Section, megabytes, number};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::shapes::{self, SHAPES, Shape};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Largest allowed growth of a doubling beyond n log n.
const MOST_GROWTH: f64 = 1.3;

/// Seconds ignored: fixed costs and the noise of short runs.
const NOISE: f64 = 0.25;

/// Multiples of the number of nodes that are measured.
const TIMES: [u64; 3] = [1, 2, 4];

/// Options of `shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench shapes --save
  heaplake-bench shapes --shapes java-far,bipartite --nodes 250000 --memory 256MiB")]
pub(crate) struct Options {
    /// Nodes of the smallest heap; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    nodes: u64,
    /// Names of shapes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    shapes: Vec<String>,
    /// Memory budget of the engine [default: its own]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// How often each heap is analysed; the fastest counts
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
    let mut section = Section::new("shapes", &machine::describe(&options.heaplake)?);
    let nodes = TIMES.map(|times| options.nodes * times);
    let memory =
        options.memory.map_or_else(|| "its default budget".to_owned(), |size| format!("a budget of {} bytes", size.0));
    section.say(&format!(
        "Processor seconds for a million nodes of `analyze --duplicates all`, the fastest of {}, with {memory}, on heaps of \
         {nodes:?} nodes; growth is that of a doubling beyond n log n, at most {MOST_GROWTH}.",
        options.runs
    ));
    let chosen = chosen(&options.shapes)?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for shape in chosen {
        eprintln!("{}: {}", shape.name, shape.says);
        let mut costs = Vec::new();
        for nodes in nodes {
            costs.push(cost(shape, nodes, options)?);
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
    let find = |name: &String| shapes::find(name).with_context(|| format!("there is no shape {name}"));
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

/// Cheapest of several analyses of a heap.
fn cost(shape: &Shape, nodes: u64, options: &Options) -> Result<Cost> {
    let work = files::work()?;
    let (input, lake) = (work.join(format!("shape.{}", shape.ending)), work.join("lake"));
    let write = || {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(&input)?);
        shape.write(nodes, &mut to).and_then(|()| to.flush())
    };
    write().with_context(|| input.display().to_string())?;
    let mut best: Option<Cost> = None;
    for _ in 0..options.runs {
        let cost = analyse(&input, &lake, options)?;
        best = Some(best.filter(|best| best.cpu_seconds <= cost.cpu_seconds).unwrap_or(cost));
    }
    fs::remove_file(&input)?;
    best.context("no run")
}

fn analyse(input: &Path, lake: &Path, options: &Options) -> Result<Cost> {
    let command =
        [options.heaplake.as_os_str(), "analyze".as_ref(), input.as_os_str(), "--out".as_ref(), lake.as_os_str()];
    let more = ["--snapshot", "bench", "--duplicates", "all"].map(OsString::from);
    let memory = options.memory.map(|size| format!("--memory={}", size.0).into());
    let command: Vec<OsString> = command.map(OsString::from).into_iter().chain(more).chain(memory).collect();
    let run = measure::command(None, &command)?;
    // A leftover makes the next run fail with a clear error.
    let _ = fs::remove_dir_all(lake);
    if run.cost.exit_code != 0 {
        bail!("{}", contest::failure(&run));
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
