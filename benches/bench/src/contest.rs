//! Measures several commands against each other: interleaved, so that a slow minute of the machine hits all alike, and
//! reported as medians.

use crate::measure::{self, Cost, Run};
use crate::settings::FLOOR;
use anyhow::Result;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A command to measure.
pub(crate) struct Entry {
    /// Name in tables.
    pub name: String,
    pub command: Vec<OsString>,
    /// Output removed after every run.
    pub leaves: Option<PathBuf>,
}

impl Entry {
    /// A command that leaves an output; see [`words`].
    pub(crate) fn new(name: &str, line: &str, paths: &[&Path], leaves: Option<&Path>) -> Self {
        Self { name: name.to_owned(), command: words(line, paths), leaves: leaves.map(Path::to_owned) }
    }

    /// The floor: reading a file.
    pub(crate) fn floor(file: &Path) -> Result<Self> {
        Ok(Self::new(FLOOR, "@ read @", &[&env::current_exe()?, file], None))
    }
}

/// The words of a command line, with the next path for each `@`.
pub(crate) fn words(line: &str, paths: &[&Path]) -> Vec<OsString> {
    let mut paths = paths.iter();
    let path_or_word = |word| match word {
        "@" => paths.next().map(OsString::from).unwrap_or_default(),
        word => word.into(),
    };
    line.split(' ').map(path_or_word).collect()
}

/// Result of an entry.
pub(crate) struct Outcome {
    /// Name in tables.
    pub name: String,
    /// Its runs, or why they failed.
    pub runs: Result<Vec<Run>, String>,
}

impl Outcome {
    /// Median of a cost over all runs.
    pub(crate) fn median(&self, of: impl Fn(&Cost) -> f64) -> Option<f64> {
        let runs = self.runs.as_ref().ok()?;
        Some(median(runs.iter().map(|run| of(&run.cost)).collect()))
    }

    /// Median CPU time, seconds.
    pub(crate) fn cpu(&self) -> Option<f64> {
        self.median(|cost| cost.cpu_seconds)
    }

    /// Median wall time, seconds.
    pub(crate) fn wall(&self) -> Option<f64> {
        self.median(|cost| cost.wall_seconds)
    }

    /// Median peak memory, bytes.
    pub(crate) fn rss(&self) -> Option<f64> {
        self.median(|cost| cost.max_rss_bytes as f64)
    }
}

/// Runs every entry in turn, `runs` times. An entry that fails once is dropped.
pub(crate) fn hold(entries: &[Entry], runs: usize, group: Option<&Path>) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> =
        entries.iter().map(|entry| Outcome { name: entry.name.clone(), runs: Ok(Vec::new()) }).collect();
    for round in 1..=runs {
        for (entry, outcome) in entries.iter().zip(&mut outcomes) {
            let Ok(done) = &mut outcome.runs else { continue };
            eprintln!("  {} ({round} of {runs})", entry.name);
            let run = measure::command(group, &entry.command)?;
            if let Some(left) = &entry.leaves {
                // A leftover makes the next run fail with a clear error.
                let _ = fs::remove_dir_all(left);
            }
            if run.cost.exit_code == 0 {
                done.push(run);
            } else {
                outcome.runs = Err(failure(&run));
                eprintln!("    {}", failure(&run));
            }
        }
    }
    Ok(outcomes)
}

/// Why a command failed, in one line.
pub(crate) fn failure(run: &Run) -> String {
    let why = match run.cost.exit_code {
        // Exit code of `timeout`.
        124 => "out of time".to_owned(),
        137 => "killed".to_owned(),
        code => format!("exit code {code}"),
    };
    // The first line that mentions an error: advice or a stack often follows.
    let lines = || run.log.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = lines().find(|line| line.starts_with("heaplake:") || line.contains("Error")).or(lines().next_back());
    match said {
        Some(said) => format!("{why}: {}", said.chars().take(160).collect::<String>()),
        None => why,
    }
}

/// Median; 0 for an empty list.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        n => (numbers[(n - 1) / 2] + numbers[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }
}
