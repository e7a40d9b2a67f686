//! Several commands measured against each other: interleaved, so that a slow minute of the machine hits all alike, and
//! reported as medians.

use crate::measure::{self, Cost, Run};
use anyhow::Result;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A command that takes part.
pub struct Entry {
    /// Name in tables.
    pub name: String,
    /// The command line.
    pub command: Vec<OsString>,
    /// What it leaves behind, removed after every run.
    pub leaves: Option<PathBuf>,
}

/// What became of an entry.
pub struct Outcome {
    /// Name in tables.
    pub name: String,
    /// Its runs, or why there are none.
    pub runs: Result<Vec<Run>, String>,
}

impl Outcome {
    /// The median of something over all runs.
    pub fn median(&self, of: impl Fn(&Cost) -> f64) -> Option<f64> {
        let runs = self.runs.as_ref().ok()?;
        Some(median(runs.iter().map(|run| of(&run.cost)).collect()))
    }

    /// Median processor time, seconds.
    pub fn cpu(&self) -> Option<f64> {
        self.median(|cost| cost.cpu_seconds)
    }

    /// Median time, seconds.
    pub fn wall(&self) -> Option<f64> {
        self.median(|cost| cost.wall_seconds)
    }

    /// Median peak memory, bytes.
    pub fn rss(&self) -> Option<f64> {
        self.median(|cost| cost.max_rss_bytes as f64)
    }
}

/// Runs every entry in turn, `runs` times over. An entry that fails once is out.
///
/// # Errors
/// When a command cannot be run at all.
pub fn hold(entries: &[Entry], runs: usize, group: Option<&Path>) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> =
        entries.iter().map(|entry| Outcome { name: entry.name.clone(), runs: Ok(Vec::new()) }).collect();
    for round in 1..=runs {
        for (entry, outcome) in entries.iter().zip(&mut outcomes) {
            let Ok(done) = &mut outcome.runs else { continue };
            eprintln!("  {} ({round} of {runs})", entry.name);
            let run = measure::command(group, &entry.command)?;
            if let Some(left) = &entry.leaves {
                // What cannot be removed is in the way of the next run, which will say so.
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

/// Why a command failed, in a line.
pub fn failure(run: &Run) -> String {
    let why = match run.cost.exit_code {
        // What `timeout` answers.
        124 => "out of time".to_owned(),
        137 => "killed".to_owned(),
        code => format!("exit code {code}"),
    };
    // The first line that speaks of an error, for what follows is often advice or a stack.
    let lines = || run.log.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = lines().find(|line| line.starts_with("heaplake:") || line.contains("Error")).or(lines().next_back());
    match said {
        Some(said) => format!("{why}: {}", said.chars().take(160).collect::<String>()),
        None => why,
    }
}

/// The middle of some numbers; 0 of none.
pub fn median(mut numbers: Vec<f64>) -> f64 {
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
