//! Finds an existing run in the lake.
//!
//! The input is hashed only if the lake has a run on a file of the same size, and of the same stem or name.

use super::request::{Outcome, Request};
use crate::diagnostic::Diagnostic;
use crate::inputs;
use heaplake_input::source::{self, Input};
use heaplake_kit::storage::{self, About};
use heaplake_lake::commit;
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::options::{AnalysisOptions, Options, TableName, Tables};
use heaplake_schemas::run::Run;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Returns the existing run of this input with the same options. A different run of the same name is an error.
pub fn find(request: &Request, cancel: &AtomicBool) -> Result<Option<Outcome>, Diagnostic> {
    let Input::File(path) = &request.input else { return Ok(None) };
    let Ok(About { bytes, .. }) = storage::about(path) else { return Ok(None) };
    let candidates = match &request.snapshot {
        Some(name) => vec![commit::place(&request.lake, &request.release, name)],
        None => named_alike(request),
    };
    let mut hash = None;
    for place in candidates {
        if request.snapshot.is_none() && commit::input_bytes(&place).is_some_and(|there| there != bytes) {
            continue;
        }
        let Some(run) = commit::read(&place)? else { continue };
        // A trace can be replayed, and each of its heap walks analysed: these runs coexist.
        if request.snapshot.is_none() && !of_one_kind(&run.options, &request.options) {
            continue;
        }
        if run.input_bytes != bytes {
            if request.snapshot.is_some() {
                return Err(taken(&place, "its input"));
            }
            continue;
        }
        let hash = match &hash {
            Some(hash) => hash,
            None => hash.insert(source::identify(&request.input, cancel)?.hash),
        };
        if run.input_hash == *hash {
            return same(request, place, run).map(Some);
        }
    }
    Ok(None)
}

/// Returns the existing run at a place, once the input is known. A different run there is an error.
pub fn at(place: &Path, request: &Request, input_hash: &str) -> Result<Option<Outcome>, Diagnostic> {
    match commit::read(place)? {
        None => Ok(None),
        Some(run) if run.input_hash == input_hash => same(request, place.to_owned(), run).map(Some),
        Some(_) => Err(taken(place, "its input")),
    }
}

/// Whether both are replays, or both analyses of the same walk.
fn of_one_kind(one: &Options, other: &Options) -> bool {
    match (one, other) {
        (Options::Analysis(one), Options::Analysis(other)) => one.walk == other.walk,
        (Options::Replay(_), Options::Replay(_)) => true,
        _ => false,
    }
}

/// Runs of the release with the default name prefix of this input.
fn named_alike(request: &Request) -> Vec<PathBuf> {
    let prefix = format!("snapshot={}-", inputs::stem(&request.input));
    let folder = request.lake.join(format!("release={}", request.release));
    let entries = storage::entries(&folder).unwrap_or_default();
    entries.iter().filter(|entry| entry.name.starts_with(&prefix)).map(|entry| folder.join(&entry.name)).collect()
}

fn same(request: &Request, place: PathBuf, run: Run) -> Result<Outcome, Diagnostic> {
    match difference(&run, &request.options) {
        None => Ok(Outcome { place, run, unchanged: true, stages: Vec::new() }),
        Some(difference) => Err(taken(&place, &difference)),
    }
}

fn taken(place: &Path, difference: &str) -> Diagnostic {
    let cause = format!("{}: a run stands here that differs in {difference}", place.display());
    Diagnostic::failed(cause, "give --force to replace it, or another --snapshot name")
}

/// Describes the difference between a run and these options.
fn difference(run: &Run, options: &Options) -> Option<String> {
    if run.schema_version != SCHEMA_VERSION {
        return Some(format!("its schema version ({})", run.schema_version));
    }
    let differs = match (&run.options, options) {
        (Options::Analysis(old), Options::Analysis(new)) => analyses_differ(old, new, run.summary.partial.is_some()),
        (Options::Replay(old), Options::Replay(new)) => {
            let maps = || (old.source_maps != new.source_maps).then(|| "--symbols".to_owned());
            (old.recording != new.recording).then(|| "the options of replay".to_owned()).or_else(maps)
        }
        _ => Some("the options of replay".to_owned()),
    };
    let symbols = || (run.options.symbols() != options.symbols()).then(|| "--symbols".to_owned());
    let differs = differs.or_else(symbols);
    let names = || (run.options.names() != options.names()).then(|| "--names".to_owned());
    differs.or_else(names).or_else(|| (run.options.labels() != options.labels()).then(|| "its labels".to_owned()))
}

/// Default tables added after the first runs of this schema version: a run that lacks all six still matches.
const LATER: [TableName; 6] = [
    TableName::RetainerTrees,
    TableName::AllocationTypes,
    TableName::AllocationFunctions,
    TableName::AllocationCallees,
    TableName::LiveAllocations,
    TableName::Samples,
];

/// Whether the tables of a run differ, apart from [`LATER`].
fn tables_differ(old: &Tables, new: &Tables) -> bool {
    let lacks_all = LATER.iter().all(|&table| !old.has(table) && new.has(table));
    let old = if lacks_all { LATER.into_iter().fold(old.clone(), Tables::with) } else { old.clone() };
    old != *new
}

/// Returns the first option in which two analyses differ. Salvage matters only for a damaged input.
fn analyses_differ(old: &AnalysisOptions, new: &AnalysisOptions, damaged: bool) -> Option<String> {
    let walk = || old.walk.map_or("last".to_owned(), |walk| walk.to_string());
    let work = || old.duplicate_work.map_or("default".to_owned(), |work| work.to_string());
    if tables_differ(&old.tables, &new.tables) {
        Some(format!("--tables ({})", old.tables))
    } else if old.referents != new.referents {
        Some(format!("--referents ({})", old.referents.name()))
    } else if old.sizes != new.sizes {
        Some(format!("--sizes ({})", old.sizes.name()))
    } else if old.duplicates != new.duplicates {
        Some(format!("--duplicates ({})", old.duplicates.name()))
    } else if old.duplicates_of != new.duplicates_of {
        Some(format!("--duplicates-of ({})", old.duplicates_of.join(", ")))
    } else if old.duplicate_work != new.duplicate_work {
        Some(format!("--duplicate-work ({})", work()))
    } else if old.salvage != new.salvage && damaged {
        Some(format!("--salvage ({})", if old.salvage { "with" } else { "without" }))
    } else if old.walk != new.walk {
        Some(format!("--walk ({})", walk()))
    } else if old.big != new.big {
        Some(format!("big classes ({})", old.big))
    } else if old.owners != new.owners {
        Some("--owners".to_owned())
    } else if old.source_maps != new.source_maps {
        Some("--source-maps".to_owned())
    } else {
        None
    }
}
