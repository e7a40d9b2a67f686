//! Finds an existing run in the lake.
//!
//! The input is hashed only if the lake has a run on a file of the same size, and of the same stem or name. An object of
//! a store is not even read if its tag and its length are those of the run.

use super::request::{Outcome, Request};
use crate::diagnostic::Diagnostic;
use crate::inputs;
use heaplake_input::source::{self, Input};
use heaplake_kit::storage::{self, About};
use heaplake_kit::threads::locked;
use heaplake_lake::commit;
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::options::{AnalysisOptions, Options, TableName, Tables};
use heaplake_schemas::run::Run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// Returns the existing run of this input with the same options. A different run of the same name is an error.
pub fn find(request: &Request, cancel: &AtomicBool) -> Result<Option<Outcome>, Diagnostic> {
    let Input::File(path) = &request.input else { return Ok(None) };
    let Ok(About { bytes, .. }) = storage::input(path) else { return Ok(None) };
    let candidates = match &request.snapshot {
        Some(name) => vec![commit::place(&request.lake, &request.release, name)],
        None => named_alike(request),
    };
    let mut hash = None;
    for place in candidates {
        // In a store, a part of a description costs as much as the whole.
        let is_local = !storage::is_url(&place);
        if request.snapshot.is_none() && is_local && commit::input_bytes(&place).is_some_and(|there| there != bytes) {
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
        if run.source == request.input.name() && run.input_tag.is_some() && run.input_tag == tag(&request.input) {
            return same(request, place, run).map(Some);
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
    let names = names(&folder);
    names.iter().filter(|name| name.starts_with(&prefix)).map(|name| folder.join(name)).collect()
}

/// Names in a folder, in a store as they were at the first question: a run made since is found when its place is taken.
fn names(folder: &Path) -> Arc<Vec<String>> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Arc<Vec<String>>>> = Mutex::new(BTreeMap::new());
    let list = || Arc::new(storage::entries(folder).unwrap_or_default().into_iter().map(|entry| entry.name).collect());
    if !storage::is_url(folder) {
        return list();
    }
    let mut known = locked(&KNOWN);
    Arc::clone(known.entry(folder.to_owned()).or_insert_with(list))
}

/// The tag of an input in a store, if equal tags mean equal bytes.
pub fn tag(input: &Input) -> Option<String> {
    let Input::File(path) = input else { return None };
    storage::input(path).ok()?.tag.filter(|tag| !tag.starts_with("W/"))
}

fn same(request: &Request, place: PathBuf, run: Run) -> Result<Outcome, Diagnostic> {
    match difference(&run, &request.options) {
        None => Ok(Outcome { place, run, unchanged: true, stages: Vec::new() }),
        Some(difference) if difference == LABELS => Err(Diagnostic {
            advice: "heaplake lake label changes the labels of a run; --force replaces it".to_owned(),
            ..taken(&place, &difference)
        }),
        Some(difference) => Err(taken(&place, &difference)),
    }
}

fn taken(place: &Path, difference: &str) -> Diagnostic {
    let cause = format!("{}: a run stands here that differs in {difference}", place.display());
    Diagnostic::failed(cause, "give --force to replace it, or another --snapshot name")
}

/// The difference of a run with other labels.
const LABELS: &str = "its labels";

/// Describes the difference between a run and these options.
fn difference(run: &Run, options: &Options) -> Option<String> {
    if run.schema_version != SCHEMA_VERSION {
        return Some(format!("its schema version ({})", run.schema_version));
    }
    let (old, new) = (&run.options, options);
    let differs = match (old, new) {
        (Options::Analysis(old), Options::Analysis(new)) => analyses_differ(old, new, run.summary.partial.is_some()),
        (Options::Replay(old), Options::Replay(new)) if old.recording == new.recording => {
            (old.source_maps != new.source_maps).then(|| "--symbols".to_owned())
        }
        _ => Some("the options of replay".to_owned()),
    };
    let others = [
        (old.symbols() != new.symbols(), "--symbols"),
        (old.names() != new.names(), "--names"),
        (old.labels() != new.labels(), LABELS),
    ];
    differs.or_else(|| others.into_iter().find_map(|(differs, option)| differs.then(|| option.to_owned())))
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
    let walk = old.walk.map_or("last".to_owned(), |walk| walk.to_string());
    let work = old.duplicate_work.map_or("default".to_owned(), |work| work.to_string());
    let salvage = if old.salvage { "with" } else { "without" };
    let options = [
        (tables_differ(&old.tables, &new.tables), format!("--tables ({})", old.tables)),
        (old.referents != new.referents, format!("--referents ({})", old.referents.name())),
        (old.sizes != new.sizes, format!("--sizes ({})", old.sizes.name())),
        (old.duplicates != new.duplicates, format!("--duplicates ({})", old.duplicates.name())),
        (old.duplicates_of != new.duplicates_of, format!("--duplicates-of ({})", old.duplicates_of.join(", "))),
        (old.duplicate_work != new.duplicate_work, format!("--duplicate-work ({work})")),
        (old.salvage != new.salvage && damaged, format!("--salvage ({salvage})")),
        (old.walk != new.walk, format!("--walk ({walk})")),
        (old.big != new.big, format!("big classes ({})", old.big)),
        (old.owners != new.owners, "--owners".to_owned()),
        (old.source_maps != new.source_maps, "--source-maps".to_owned()),
        (old.texts.mode != new.texts.mode, format!("--texts ({})", old.texts.mode.name())),
        (old.texts.key != new.texts.key, "the key of --texts-key".to_owned()),
        (old.texts.keep != new.texts.keep, format!("--texts-keep ({})", old.texts.keep.join(", "))),
    ];
    options.into_iter().find_map(|(differs, option)| differs.then_some(option))
}
