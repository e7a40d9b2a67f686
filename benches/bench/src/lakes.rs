//! Writes lakes of many small runs.

use crate::files;
use anyhow::{Context, Result};
use heaplake_generator::rng::Rng;
use heaplake_lake::selection;
use heaplake_support::written::{Class, write};
use std::fs;
use std::path::{Path, PathBuf};

/// Classes per run.
pub(crate) const CLASSES: usize = 10_000;
/// Classes per run of a lake of many runs.
pub(crate) const FEW_CLASSES: usize = 100;
/// Runs per release there.
const PER_RELEASE: usize = 1000;

/// Returns a lake of two releases of `runs` runs each, written unless it exists; one class of the second release is 5 %
/// larger.
pub(crate) fn two_releases(runs: usize) -> Result<PathBuf> {
    let all = ["1", "2"].into_iter().flat_map(|release| (0..runs).map(move |run| (release.to_owned(), run)));
    written(&format!("fleet-{runs}x{CLASSES}"), all, CLASSES)
}

/// Returns a lake of releases of 1,000 small runs each, `runs` in all, written unless it exists.
pub(crate) fn small_runs(runs: usize) -> Result<PathBuf> {
    let all = (0..runs).map(|run| ((run / PER_RELEASE + 1).to_string(), run % PER_RELEASE));
    written(&format!("month-{runs}x{FEW_CLASSES}"), all, FEW_CLASSES)
}

/// Writes these runs, given by release and number, unless the lake exists.
fn written(name: &str, runs: impl Iterator<Item = (String, usize)>, classes: usize) -> Result<PathBuf> {
    let lake = files::work()?.join(name);
    if lake.exists() {
        return Ok(lake);
    }
    eprintln!("writing {}", lake.display());
    let part = lake.with_extension("part");
    let mut rng = Rng::new(1);
    for (release, run) in runs {
        small_run(&part, &release, run, classes, &mut rng)?;
    }
    fs::rename(&part, &lake).with_context(|| format!("cannot rename {}", part.display()))?;
    Ok(lake)
}

/// Writes one more run of a release of a lake of two releases.
pub(crate) fn one_run(lake: &Path, release: &str, run: usize, rng: &mut Rng) -> Result<()> {
    small_run(lake, release, run, CLASSES, rng)
}

fn small_run(lake: &Path, release: &str, run: usize, classes: usize, rng: &mut Rng) -> Result<()> {
    let load = 1.0 + 0.1 * unit(rng);
    let class = |at: usize| {
        let grown = if release == "2" && at == 42 { 1.05 } else { 1.0 };
        let size = (1_u64 << (10 + at % 14)) as f64;
        let retained = size * load * grown * (1.0 + 0.2 * unit(rng));
        Class::plain(format!("com.example.service.part{}.Class{at}", at % 97), (size / 50.0) as i64, retained as i64)
    };
    let rows: Vec<Class> = (0..classes).map(class).collect();
    Ok(write(lake, (release, &format!("run{run:04}"), Some(&format!("host{}", run % 50))), &rows)?)
}

/// Table bytes of all runs of a lake.
pub(crate) fn table_bytes(lake: &Path) -> Result<u64> {
    let mut bytes = 0;
    for found in selection::runs(lake)?.found {
        bytes += found.run.tables.iter().map(|table| table.bytes).sum::<u64>();
    }
    Ok(bytes)
}

/// A random number from 0 to 1.
fn unit(rng: &mut Rng) -> f64 {
    (rng.draw() >> 11) as f64 / (1_u64 << 53) as f64
}
