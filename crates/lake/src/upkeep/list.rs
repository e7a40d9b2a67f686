//! Lists the runs of a lake.
//!
//! Reads the catalogue, and `run.json` and file sizes of the runs that it does not describe. Broken runs are listed with
//! their problem.

use super::choice::Choice;
use crate::captured::captured_at;
use crate::catalogue::Wanted;
use crate::entry::Entry;
use crate::moment;
use crate::selection::{self, FoundRun, Selection};
use crate::stored;
use heaplake_kit::StageError;
use heaplake_schemas::run::Run;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    pub description: Option<Arc<Run>>,
}

fn whole<S: Serializer>(run: &Option<Arc<Run>>, to: S) -> Result<S::Ok, S::Error> {
    run.as_deref().serialize(to)
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
    // Without descriptions, a run that the catalogue knows is not opened.
    let wanted = Wanted::NO_TABLES;
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    let others = selection::each(lake, &Selection::default(), wanted, |path, read| {
        let listed = read.and_then(|read| read.map_or(Ok(None), |read| one(read, choice, described)));
        match listed {
            Ok(run) => runs.extend(run),
            Err(problem) => damaged.push(Damaged { path, problem }),
        }
    })?;
    damaged.extend(others.into_iter().map(|(path, problem)| Damaged { path, problem }));
    let mut listing = Listing { runs, damaged, unmet: None };
    listing.runs.sort_by(|a, b| (&a.release, &a.snapshot).cmp(&(&b.release, &b.snapshot)));
    listing.damaged.sort_by(|a, b| a.path.cmp(&b.path));
    if listing.runs.is_empty() && !choice.selection.is_empty() {
        listing.unmet = selection::runs(lake)?.unmet(&choice.selection);
    }
    Ok(listing)
}

/// Lists a run if it matches; reads it again if it is replaced meanwhile, so that the answer is consistent.
fn one((mut found, mut bytes): (FoundRun, Option<u64>), choice: &Choice, described: bool) -> Result<Option<Listed>, String> {
    let mut tries = 0;
    loop {
        let listed = chosen(&found, bytes, choice, described);
        tries += 1;
        // A run of the catalogue was examined just now, and nothing more was read.
        let is_read = bytes.is_none() || described;
        if tries >= TRIES || !is_read || found.stands() {
            return listed.map_err(|error| error.to_string());
        }
        let Some(again) = selection::find(&found.place)? else { return Ok(None) };
        (found, bytes) = (again, None);
    }
}

/// Lists a run if it matches. `bytes` are those of its files, if known.
fn chosen(found: &FoundRun, bytes: Option<u64>, choice: &Choice, described: bool) -> Result<Option<Listed>, StageError> {
    let FoundRun { place, run, .. } = found;
    if !choice.takes(place, run)? {
        return Ok(None);
    }
    let captured = captured_at(place, run)?.map(moment::text);
    let disk_bytes = bytes.unwrap_or_else(|| stored::disk_bytes(place));
    let description = if described { selection::open(place)?.map(|open| open.run) } else { None };
    Ok(Some(Listed { description, ..listed(place.clone(), run, captured, disk_bytes) }))
}

fn listed(path: PathBuf, run: &Entry, captured_at: Option<String>, disk_bytes: u64) -> Listed {
    let of_heap = |amount: u64| (!run.is_replay).then_some(amount);
    let of_replay = |amount: u64| run.is_replay.then_some(amount);
    let [high, medium, low] = run.findings.map(|findings| findings as usize);
    Listed {
        path,
        release: run.release.to_string(),
        snapshot: run.snapshot.to_string(),
        captured_at,
        labels: run.labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        nodes: of_heap(run.objects),
        heap_bytes: of_heap(run.bytes),
        allocations: of_replay(run.objects),
        allocated_bytes: of_replay(run.bytes),
        format: run.format.to_string(),
        input_bytes: run.input_bytes,
        findings: Findings { high, medium, low },
        partial: run.partial.as_deref().map(str::to_owned),
        disk_bytes,
        description: None,
    }
}
