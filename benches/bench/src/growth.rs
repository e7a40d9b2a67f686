//! Measures inputs of extreme shapes in three sizes: growth of time and memory.

use crate::contest;
use crate::files;
use crate::group::Group;
use crate::measure::{self, Cost};
use crate::report::{Section, megabytes, number};
use anyhow::{Context, Result, bail, ensure};
use heaplake_generator::shapes::{Shape, find};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Largest allowed growth of a doubling beyond n log n.
pub(crate) const MOST_GROWTH: f64 = 1.3;

/// Seconds ignored: fixed costs and the noise of short runs.
const NOISE: f64 = 0.25;

/// Settings of all shapes.
pub(crate) struct Settings<'a> {
    pub heaplake: &'a Path,
    pub sizes: [u64; 3],
    /// How often each file is read; the fastest counts.
    pub runs: u16,
    pub group: Option<&'a Group>,
    /// The engine's options for a shape.
    pub words: &'a dyn Fn(&Shape) -> String,
}

/// Sizes that are measured.
pub(crate) fn sizes(smallest: u64) -> [u64; 3] {
    [1, 2, 4].map(|times| smallest * times)
}

/// The shapes of these names; all if there are none.
pub(crate) fn chosen(names: &[String], all: &'static [Shape]) -> Result<Vec<&'static Shape>> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    names.iter().map(|name| find(all, name).with_context(|| format!("there is no shape {name}"))).collect()
}

/// Measures shapes and ends the section; a shape that grows too fast is an error.
pub(crate) fn report(mut section: Section, save: bool, shapes: &[&Shape], settings: &Settings<'_>) -> Result<()> {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for shape in shapes {
        eprintln!("{}: {}", shape.name, shape.says);
        let costs = settings.sizes.iter().map(|&size| cost(shape, size, settings)).collect::<Result<Vec<_>>>()?;
        let growth = growth(settings.sizes, &costs);
        if growth > MOST_GROWTH {
            failed.push(shape.name);
        }
        let of = |at: usize| number(Some(costs[at].cpu_seconds / settings.sizes[at] as f64 * 1e6));
        let peak = megabytes(costs.last().map(|cost| cost.max_rss_bytes as f64));
        rows.push([shape.name.to_owned(), of(0), of(1), of(2), number(Some(growth)), peak]);
    }
    section.table(["shape", "n", "2n", "4n", "growth", "RSS MB of 4n"], &rows);
    section.end(save)?;
    ensure!(failed.is_empty(), "these grow faster than they may: {}", failed.join(", "));
    Ok(())
}

/// Largest growth of a doubling: ratio of times over ratio of n log n.
fn growth(sizes: [u64; 3], costs: &[Cost]) -> f64 {
    let work = |size: u64| size as f64 * (size as f64).log2();
    let of = |at: usize| {
        let [less, more] = [at, at + 1].map(|at| costs[at].cpu_seconds);
        (more - NOISE).max(0.0) / less.max(NOISE) / (work(sizes[at + 1]) / work(sizes[at]))
    };
    of(0).max(of(1))
}

/// Cheapest of several runs on a file.
fn cost(shape: &Shape, size: u64, settings: &Settings<'_>) -> Result<Cost> {
    let work = files::work()?;
    let (input, lake) = (work.join(format!("shape.{}", shape.ending)), work.join("lake"));
    let write = || {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(&input)?);
        shape.write(size, &mut to).and_then(|()| to.flush())
    };
    write().with_context(|| input.display().to_string())?;
    let mut best: Option<Cost> = None;
    for _ in 0..settings.runs {
        let cost = once((&input, &lake), shape, settings)?;
        best = Some(best.filter(|best| best.cpu_seconds <= cost.cpu_seconds).unwrap_or(cost));
    }
    fs::remove_file(&input)?;
    best.context("no run")
}

fn once((input, lake): (&Path, &Path), shape: &Shape, settings: &Settings<'_>) -> Result<Cost> {
    let line = format!("@ {} @ --out @ --snapshot bench {}", shape.command, (settings.words)(shape));
    let command = contest::words(&line, &[settings.heaplake, input, lake]);
    let run = measure::command(settings.group.map(Group::folder), &command)?;
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
