//! Lists the runs of a lake.
//!
//! Reads the catalogue, and `run.json` and file sizes of the runs that it does not describe. Broken runs are listed with
//! their problem.

use super::choice::Choice;
use crate::captured::captured_at;
use crate::catalogue::Wanted;
use crate::entry::{Entry, TableEntry};
use crate::moment;
use crate::packs;
use crate::selection::{self, FoundRun, Selection};
use crate::stored;
use heaplake_kit::StageError;
use heaplake_schemas::options::Texts;
use heaplake_schemas::run::Run;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum attempts to read a run that others replace meanwhile.
const TRIES: u32 = 100;

/// A listing.
#[derive(Debug, Serialize, JsonSchema)]
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
#[derive(Debug, Serialize, JsonSchema)]
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
    /// Texts of the heap in the run: `full`, `hash` or `none`; null for a replay.
    pub texts: Option<Texts>,
    /// Bytes of the run's files.
    pub disk_bytes: u64,
    /// What the table of runs in SQL says beyond that, and the tables, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<ListedDetails>,
    /// Full description, if requested.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    #[schemars(with = "Option<Run>")]
    pub description: Option<Arc<Run>>,
}

/// Further columns of a run, and its tables.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedDetails {
    /// Capture time of the input, in microseconds since 1970; null if unknown.
    pub captured_at_us: Option<i64>,
    /// Version of the tables.
    pub schema_version: u32,
    /// Version of heaplake that wrote the run.
    pub heaplake_version: String,
    /// The input as the user named it.
    pub source: String,
    /// XXH3-128 of the input.
    pub input_hash: String,
    /// Edges of the heap.
    pub edge_count: u64,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Peak scratch space, bytes.
    pub scratch_bytes: u64,
    /// Peak resident memory, bytes; null if unknown.
    pub peak_rss_bytes: Option<u64>,
    /// In a store, the folder of the tables; else null.
    pub folder: Option<String>,
    /// In a compacted lake, the partition of its packs; else null.
    pub night: Option<String>,
    /// Files of the tables whose rows are in packs.
    pub packed: Vec<String>,
    /// Files of the tables.
    pub tables: Vec<String>,
    /// Files of tables that are gone.
    pub missing: Vec<String>,
}

/// What a listing shows of each run beyond the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// [`ListedDetails`].
    pub details: bool,
    /// The whole description, for which each `run.json` is read.
    pub descriptions: bool,
}

fn whole<S: Serializer>(run: &Option<Arc<Run>>, to: S) -> Result<S::Ok, S::Error> {
    run.as_deref().serialize(to)
}

/// Numbers of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Findings {
    /// Of high severity.
    pub high: usize,
    /// Of medium severity.
    pub medium: usize,
    /// Of low severity.
    pub low: usize,
}

/// A folder that should be a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Damaged {
    /// Folder.
    pub path: PathBuf,
    /// Problem, one line.
    pub problem: String,
}

/// Lists the matching runs of a lake. Unreadable runs are part of the answer, not errors.
pub fn list(lake: &Path, choice: &Choice, extent: Extent) -> Result<Listing, StageError> {
    let wanted = Wanted { tables: &|_| extent.details, details: extent.details };
    let (mut runs, mut damaged, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |path: PathBuf, read: selection::Read| {
        let listed = read.and_then(|read| read.map_or(Ok(None), |read| one(read, choice, extent)));
        match listed {
            Ok(run) => runs.extend(run),
            Err(problem) => damaged.push(Damaged { path, problem }),
        }
    };
    let others = selection::each(lake, &Selection::default(), wanted, |path, read| match extent.descriptions {
        true => reads.push((path, read)),
        false => take(path, read),
    })?;
    stored::expect(&reads.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    reads.into_iter().for_each(|(path, read)| take(path, read));
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
fn one(
    (mut found, mut bytes): (FoundRun, Option<u64>),
    choice: &Choice,
    extent: Extent,
) -> Result<Option<Listed>, String> {
    let mut tries = 0;
    loop {
        let listed = chosen(&found, bytes, choice, extent);
        tries += 1;
        // A run of the catalogue was examined just now, and nothing more was read.
        let is_read = bytes.is_none() || extent.descriptions;
        if tries >= TRIES || !is_read || found.stands() {
            return listed.map_err(|error| error.to_string());
        }
        let Some(again) = selection::find(&found.place)? else { return Ok(None) };
        (found, bytes) = (again, None);
    }
}

/// Lists a run if it matches. `bytes` are those of its files, if known.
fn chosen(found: &FoundRun, bytes: Option<u64>, choice: &Choice, extent: Extent) -> Result<Option<Listed>, StageError> {
    let FoundRun { place, run, .. } = found;
    if !choice.takes(place, run)? {
        return Ok(None);
    }
    let captured = captured_at(place, run)?;
    let disk_bytes = bytes.unwrap_or_else(|| stored::disk_bytes(place));
    let description = if extent.descriptions { selection::open(place)?.map(|open| open.run) } else { None };
    let details = if extent.details { details(found, captured) } else { None };
    Ok(Some(Listed { details, description, ..listed(place.clone(), run, captured.map(moment::text), disk_bytes) }))
}

/// The tables of a run whose rows are in packs.
fn packed(FoundRun { place, run, .. }: &FoundRun) -> Vec<String> {
    let is_packed = |file: &str| packs::slice(place, run, file).is_ok_and(|slice| slice.is_some());
    run.tables.iter().map(|table| &*table.file).filter(|file| is_packed(file)).map(str::to_owned).collect()
}

/// The details of a run; `None` if they were not read.
fn details(found: &FoundRun, captured_at_us: Option<i64>) -> Option<ListedDetails> {
    let FoundRun { run, .. } = found;
    let details = run.details.as_deref()?;
    let files = |tables: &[TableEntry]| tables.iter().map(|table| table.file.to_string()).collect();
    Some(ListedDetails {
        captured_at_us,
        schema_version: run.schema_version,
        heaplake_version: details.heaplake_version.to_string(),
        source: details.source.to_string(),
        input_hash: details.input_hash.to_string(),
        edge_count: details.edges,
        table_bytes: details.table_bytes,
        scratch_bytes: details.scratch_bytes,
        peak_rss_bytes: details.peak_rss_bytes,
        folder: run.folder.as_deref().map(str::to_owned),
        night: run.packed.as_ref().map(|packed| packed.night.clone()),
        packed: packed(found),
        tables: files(&run.tables),
        missing: files(&found.missing()),
    })
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
        texts: run.texts,
        disk_bytes,
        details: None,
        description: None,
    }
}
