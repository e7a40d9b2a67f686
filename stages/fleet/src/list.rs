//! The runs of a lake, a line each.
//!
//! Of each run it reads `run.json` and the sizes of its files. What is no whole run is listed with its problem.

use crate::choice::Choice;
use crate::moment;
use heaplake_kit::StageError;
use heaplake_lake::captured::captured_at;
use heaplake_lake::selection::{self, Found};
use heaplake_lake::stored;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::run::Run;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How often a run is read that others replace meanwhile.
const TRIES: u32 = 100;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// The runs, by release and name.
    pub runs: Vec<Listed>,
    /// Folders that should be runs and cannot be read, by path.
    pub damaged: Vec<Damaged>,
    /// The first condition that no run of the lake fulfils, in words, with the nearest values.
    #[serde(skip)]
    pub unmet: Option<String>,
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
    /// Its labels.
    pub labels: BTreeMap<String, String>,
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
    /// Bytes of the files of the run.
    pub disk_bytes: u64,
    /// Its description, where that is asked for.
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
    /// The folder.
    pub path: PathBuf,
    /// Why it is none, in one line.
    pub problem: String,
}

/// Lists the runs of a lake that are meant; with the descriptions of all, if these are asked for.
///
/// # Errors
/// [`StageError::Io`] where the folder cannot be read; a run that cannot be read is part of the answer.
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

/// A run in a line, if it is there and meant: one version of it, where others replace it meanwhile.
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

/// A run in a line, if it is meant.
fn chosen(Found { place, run, .. }: Found, choice: &Choice, described: bool) -> Result<Option<Listed>, StageError> {
    if !choice.takes(&place, &run)? {
        return Ok(None);
    }
    let captured = captured_at(&place, &run)?.map(moment::text);
    let disk_bytes = disk_bytes(&place);
    let description = described.then(|| Box::new(run.clone()));
    Ok(Some(Listed { description, ..listed(place, run, captured, disk_bytes) }))
}

/// Bytes of the files of a run.
#[must_use]
pub fn disk_bytes(place: &Path) -> u64 {
    stored::files(place).into_iter().map(|(_, bytes)| bytes).sum()
}

fn listed(path: PathBuf, run: Run, captured_at: Option<String>, disk_bytes: u64) -> Listed {
    let labels = run.options.labels().clone();
    let summary = run.summary;
    let heap = run.replay.is_none();
    let facts = run.replay.as_ref().map(|replay| &replay.facts);
    let of = |severity| summary.findings.iter().filter(|finding| finding.severity == severity).count();
    Listed {
        path,
        release: run.release,
        snapshot: run.snapshot,
        captured_at,
        labels,
        nodes: heap.then_some(summary.node_count),
        heap_bytes: heap.then_some(summary.shallow_bytes),
        allocations: facts.map(|facts| facts.allocated_count),
        allocated_bytes: facts.map(|facts| facts.allocated_bytes),
        format: facts.map_or(summary.format, |facts| facts.format.clone()),
        input_bytes: run.input_bytes,
        findings: Findings { high: of(Severity::High), medium: of(Severity::Medium), low: of(Severity::Low) },
        partial: summary.partial,
        disk_bytes,
        description: None,
    }
}
