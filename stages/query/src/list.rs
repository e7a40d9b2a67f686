//! `heaplake ls`: the runs of a lake.
//!
//! Of each run it reads `run.json`, and when its input was captured from the table that describes the run. What is no
//! whole run is listed with its problem.

use crate::error::QueryError;
use heaplake_lake::captured::captured_at;
use heaplake_lake::selection::{self, Found};
use heaplake_schemas::findings::Severity;
use heaplake_schemas::run::{self, Run};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The answer.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// The runs, by release and name.
    pub runs: Vec<Listed>,
    /// Folders that should be runs and cannot be read, by path.
    pub damaged: Vec<Damaged>,
}

/// A run in a line.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its folder.
    pub path: PathBuf,
    /// Its release.
    pub release: String,
    /// Its name.
    pub snapshot: String,
    /// Format of the input.
    pub format: String,
    /// When the input was captured, in UTC, as in `2026-11-22T07:45:10Z`; null where the input does not say.
    pub captured_at: Option<String>,
    /// Nodes of the heap; null for the replay of a trace.
    pub nodes: Option<u64>,
    /// Shallow bytes of the heap; null for the replay of a trace.
    pub heap_bytes: Option<u64>,
    /// Objects that were allocated; null for the analysis of a heap.
    pub allocations: Option<u64>,
    /// Their bytes; null for the analysis of a heap.
    pub allocated_bytes: Option<u64>,
    /// Bytes of the input as stored.
    pub input_bytes: u64,
    /// Findings by severity.
    pub findings: Findings,
    /// What the run leaves out because its input is damaged; null where it is complete.
    pub partial: Option<String>,
}

/// Numbers of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Of high severity.
    pub high: usize,
    /// Of medium severity.
    pub medium: usize,
    /// Of low severity.
    pub low: usize,
}

/// A folder that should be a run.
#[derive(Debug, Serialize)]
pub struct Damaged {
    /// The folder.
    pub path: PathBuf,
    /// Why it is none, in one line.
    pub problem: String,
}

/// Answers.
///
/// # Errors
/// [`QueryError`] where the folder is no lake; a run that cannot be read is part of the answer.
pub fn ask(lake: &Path) -> Result<Listing, QueryError> {
    if lake.join(run::FILE).exists() {
        let cause = format!("{}: this is a run, not a lake", lake.display());
        return Err(QueryError::usage(cause, "heaplake show prints a run; name the folder that --out named"));
    }
    let found = selection::runs(lake)?;
    let mut listing = Listing { runs: Vec::new(), damaged: Vec::new() };
    listing.damaged.extend(found.damaged.into_iter().map(|(path, problem)| Damaged { path, problem }));
    for Found { place, run } in found.found {
        match captured_at(&place, &run) {
            Ok(captured) => listing.runs.push(listed(place, run, captured.map(moment))),
            Err(error) => listing.damaged.push(Damaged { path: place, problem: error.to_string() }),
        }
    }
    listing.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

fn listed(path: PathBuf, run: Run, captured_at: Option<String>) -> Listed {
    let summary = run.summary;
    let heap = run.replay.is_none();
    let facts = run.replay.as_ref().map(|replay| &replay.facts);
    let of = |severity| summary.findings.iter().filter(|finding| finding.severity == severity).count();
    Listed {
        path,
        release: run.release,
        snapshot: run.snapshot,
        captured_at,
        nodes: heap.then_some(summary.node_count),
        heap_bytes: heap.then_some(summary.shallow_bytes),
        allocations: facts.map(|facts| facts.allocated_count),
        allocated_bytes: facts.map(|facts| facts.allocated_bytes),
        format: facts.map_or(summary.format, |facts| facts.format.clone()),
        input_bytes: run.input_bytes,
        findings: Findings { high: of(Severity::High), medium: of(Severity::Medium), low: of(Severity::Low) },
        partial: summary.partial,
    }
}

/// A moment in microseconds since 1970, as a date and a time of UTC.
fn moment(micros: i64) -> String {
    let seconds = micros.div_euclid(1_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil from days (Hinnant): years begin in March, so that leap days are last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_333_510, "2026-11-22T07:45:10Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(moment(seconds * 1_000_000), date);
        }
    }
}
