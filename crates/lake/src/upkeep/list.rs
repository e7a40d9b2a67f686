//! Lists the runs of a lake.
//!
//! Reads `run.json` and file sizes of each run. Broken runs are listed with their problem.

use super::choice::Choice;
use crate::captured::captured_at;
use crate::moment;
use crate::selection::{self, FoundRun};
use crate::stored;
use heaplake_kit::StageError;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::run::Run;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum attempts to read a run that others replace meanwhile.
const TRIES: u32 = 100;

/// A listing.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// Runs by release and name.
    pub runs: Vec<Listed>,
    /// Folders that should be runs but are unreadable, by path.
    pub damaged: Vec<Damaged>,
    /// The first condition that no run meets: a sentence with the nearest values.
    #[serde(skip)]
    pub unmet: Option<String>,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Run folder.
    pub path: PathBuf,
    /// Release.
    pub release: String,
    /// Run name.
    pub snapshot: String,
    /// Input format.
    pub format: String,
    /// Capture time of the input in UTC, as in `2026-11-22T07:45:10Z`; null if unknown.
    pub captured_at: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Number of heap nodes; null for a replay.
    pub nodes: Option<u64>,
    /// Shallow bytes of the heap; null for a replay.
    pub heap_bytes: Option<u64>,
    /// Number of allocated objects; null for a heap analysis.
    pub allocations: Option<u64>,
    /// Allocated bytes; null for a heap analysis.
    pub allocated_bytes: Option<u64>,
    /// Stored bytes of the input.
    pub input_bytes: u64,
    /// Findings by severity.
    pub findings: Findings,
    /// Parts omitted because the input is damaged; null if complete.
    pub partial: Option<String>,
    /// Bytes of the run's files.
    pub disk_bytes: u64,
    /// Full description, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Box<Run>>,
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
    /// Folder.
    pub path: PathBuf,
    /// Problem, one line.
    pub problem: String,
}

/// Lists the matching runs of a lake; with `described`, includes their descriptions. Unreadable runs are part of the
/// answer, not errors.
pub fn list(lake: &Path, choice: &Choice, described: bool) -> Result<Listing, StageError> {
    let places = selection::places(lake)?;
    let damaged = |(path, problem)| Damaged { path, problem };
    let damaged = places.damaged.into_iter().map(damaged).collect();
    let mut listing = Listing { runs: Vec::new(), damaged, unmet: None };
    for place in places.places {
        match one(&place, choice, described) {
            Ok(run) => listing.runs.extend(run),
            Err(problem) => listing.damaged.push(Damaged { path: place, problem }),
        }
    }
    listing.runs.sort_by(|a, b| (&a.release, &a.snapshot).cmp(&(&b.release, &b.snapshot)));
    listing.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    if listing.runs.is_empty() && !choice.selection.is_empty() {
        listing.unmet = selection::runs(lake)?.unmet(&choice.selection);
    }
    Ok(listing)
}

/// Lists a run if it exists and matches; retries if it is replaced meanwhile, so that the answer is consistent.
fn one(place: &Path, choice: &Choice, described: bool) -> Result<Option<Listed>, String> {
    let mut tries = 0;
    loop {
        let Some(found) = selection::find(place)? else { return Ok(None) };
        let listed = chosen(found.clone(), choice, described);
        tries += 1;
        if tries >= TRIES || found.stands() {
            return listed.map_err(|error| error.to_string());
        }
    }
}

/// Lists a run if it matches.
fn chosen(
    FoundRun { place, run, .. }: FoundRun,
    choice: &Choice,
    described: bool,
) -> Result<Option<Listed>, StageError> {
    if !choice.takes(&place, &run)? {
        return Ok(None);
    }
    let captured = captured_at(&place, &run)?.map(moment::text);
    let disk_bytes = disk_bytes(&place);
    let description = described.then(|| Box::new(run.clone()));
    Ok(Some(Listed { description, ..listed(place, run, captured, disk_bytes) }))
}

/// Total bytes of a run's files.
pub fn disk_bytes(place: &Path) -> u64 {
    stored::files(place).into_iter().map(|(_, bytes)| bytes).sum()
}

fn listed(path: PathBuf, run: Run, captured_at: Option<String>, disk_bytes: u64) -> Listed {
    let labels = run.options.labels().clone();
    let summary = run.summary;
    let heap = run.replay.is_none();
    let metadata = run.replay.as_ref().map(|replay| &replay.metadata);
    let of = |severity| summary.findings.iter().filter(|finding| finding.severity == severity).count();
    Listed {
        path,
        release: run.release,
        snapshot: run.snapshot,
        captured_at,
        labels,
        nodes: heap.then_some(summary.node_count),
        heap_bytes: heap.then_some(summary.shallow_bytes),
        allocations: metadata.map(|metadata| metadata.allocated_count),
        allocated_bytes: metadata.map(|metadata| metadata.allocated_bytes),
        format: metadata.map_or(summary.format, |metadata| metadata.format.clone()),
        input_bytes: run.input_bytes,
        findings: Findings { high: of(Severity::High), medium: of(Severity::Medium), low: of(Severity::Low) },
        partial: summary.partial,
        disk_bytes,
        description: None,
    }
}
