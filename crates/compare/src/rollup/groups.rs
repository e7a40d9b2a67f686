//! Groups the runs of a lake.

use crate::error::{CompareError, no_label};
use crate::sides::{COMPARED, Key, Notes, Side, Sides, host, settle};
use heaplake_kit::StageError;
use heaplake_lake::captured::captured_at;
use heaplake_lake::entry::Entry;
use heaplake_lake::moment;
use heaplake_lake::selection;
use heaplake_lake::upkeep::choice::Choice;
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::comparison::Missed;
use heaplake_schemas::rollup::{Conditions, Group, RolledRun, Rollup};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// First schema version with fingerprints.
const WITH_FINGERPRINTS: u32 = 3;

/// A group before summing.
pub(super) struct UnsummedGroup {
    /// Description, without tables.
    pub group: Group,
    /// Runs.
    pub sides: Sides,
}

/// All groups of a lake.
pub(super) struct Groups {
    /// Groups by format, release and labels.
    pub groups: Vec<UnsummedGroup>,
    /// Remarks, and missed runs.
    pub notes: Notes,
}

/// Values of the grouping keys.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Common {
    format: String,
    release: Option<String>,
    labels: BTreeMap<String, String>,
}

/// Runs of a group.
#[derive(Default)]
struct Found {
    runs: Vec<RolledRun>,
    founds: Vec<selection::FoundRun>,
}

/// Groups the chosen runs of a lake, except known damaged ones. Runs described by an earlier rollup are not read again.
///
/// # Errors
/// [`CompareError`] also if no run can be summed up.
pub(super) fn find(
    (lake, choice): (&Path, &Choice),
    by: &[Key],
    earlier: &Rollup,
    known_damaged: &BTreeMap<PathBuf, String>,
) -> Result<Groups, CompareError> {
    let known: FxHashMap<(&str, &str), &RolledRun> =
        earlier.groups.iter().flat_map(|group| &group.runs).map(|run| ((&*run.path, &*run.hash), run)).collect();
    let selection::Runs { found, damaged, gone } = selection::runs_like(lake, &choice.selection, COMPARED)?;
    let mut notes = Notes::default();
    damaged.iter().for_each(|(path, problem)| notes.miss(path, problem));
    gone.iter().for_each(|path| notes.dropped(path));
    let mut groups: BTreeMap<Common, Found> = BTreeMap::new();
    for found in found {
        if !choice.takes(&found.place, &found.run)? {
            continue;
        }
        if let Some(problem) = known_damaged.get(&found.place) {
            notes.miss(&found.place, problem);
            continue;
        }
        // A run is held only while its group is computed: there may be more runs than file descriptors.
        let place = found.place.clone();
        let takes = |run: &Entry| choice.takes(&place, run).unwrap_or(true);
        let Some((found, missing)) = settle(found, &takes, None, &mut notes) else { continue };
        if found.run.schema_version < WITH_FINGERPRINTS {
            let (version, path) = (found.run.schema_version, found.place.display());
            notes
                .remarks
                .push(format!("{path} is left out: its tables are of version {version}, without fingerprints."));
            continue;
        }
        let path = found.place.strip_prefix(lake).unwrap_or(&found.place).display().to_string();
        let hash = hash(&found.run, &missing);
        let rolled = match known.get(&(path.as_str(), hash.as_str())) {
            Some(rolled) => (*rolled).clone(),
            None => rolled(&found, path, hash)?,
        };
        let group = groups.entry(common(&found.run, by)).or_default();
        group.runs.push(rolled);
        group.founds.push(found);
    }
    if groups.is_empty() {
        return Err(match notes.missed.first() {
            Some(Missed { path, problem }) => StageError::Refused {
                problem: format!("{}: no run can be read: {}: {problem}", lake.display(), path.display()),
                advice: "heaplake lake verify says more".to_owned(),
            }
            .into(),
            None => nothing(lake),
        });
    }
    refuse_unknown_label(by, &groups, &notes)?;
    Ok(Groups { groups: groups.into_iter().map(|(common, found)| group(common, found)).collect(), notes })
}

/// Refuses a lake without any run that may be chosen, damaged or not, before a folder for its rollup is created.
pub(super) fn refuse_empty(lake: &Path, choice: &Choice) -> Result<(), CompareError> {
    let selection::Places { places, damaged } = selection::places(lake)?;
    if places.is_empty() && damaged.is_empty() {
        return Err(nothing(lake));
    }
    if choice.is_empty() {
        return Ok(());
    }
    let selection::Runs { found, damaged, .. } = selection::runs_like(lake, &choice.selection, COMPARED)?;
    if !damaged.is_empty() || found.iter().any(|found| choice.takes(&found.place, &found.run).unwrap_or(true)) {
        return Ok(());
    }
    let unmet = if found.is_empty() { selection::runs(lake)?.unmet(&choice.selection) } else { None };
    let cause = format!("{}: {}", lake.display(), unmet.as_deref().unwrap_or("no run is like that"));
    Err(CompareError::refused(cause, "heaplake ls LAKE lists the runs, with the same options"))
}

/// Describes the conditions on the runs.
pub(super) fn conditions(choice: &Choice) -> Conditions {
    let [releases, labels] = choice.selection.patterns();
    let [since, before] = [choice.since, choice.before].map(|time| time.map(moment::text));
    Conditions { since, before, releases, labels }
}

fn nothing(lake: &Path) -> CompareError {
    let cause = format!("{}: there is no run to sum up", lake.display());
    CompareError::refused(cause, "name a lake: the folder that --out of heaplake analyze named")
}

/// Refuses a label that no run has, unless a run was missed.
fn refuse_unknown_label(by: &[Key], groups: &BTreeMap<Common, Found>, notes: &Notes) -> Result<(), CompareError> {
    let has = |name: &str| groups.keys().any(|common| common.labels.contains_key(name));
    let unknown = by.iter().find_map(|key| match key {
        Key::Label(name) if notes.missed.is_empty() && !has(name) => Some(name),
        _ => None,
    });
    match unknown {
        Some(name) => Err(no_label(name, groups.values().flat_map(|found| &found.founds))),
        None => Ok(()),
    }
}

/// Whether two groups have the same key.
pub(super) fn same_key(one: &Group, other: &Group) -> bool {
    (&one.format, &one.release, &one.labels) == (&other.format, &other.release, &other.labels)
}

fn common(run: &Entry, by: &[Key]) -> Common {
    let label = |key: &Key| match key {
        Key::Label(name) => Some((name.clone(), key.of(run)?.to_owned())),
        Key::Release => None,
    };
    let release = by.contains(&Key::Release).then(|| run.release.to_string());
    Common { format: run.format.to_string(), release, labels: by.iter().filter_map(label).collect() }
}

fn group(Common { format, release, labels }: Common, Found { runs, founds }: Found) -> UnsummedGroup {
    let mut identity = format!("{SCHEMA_VERSION}\n{format}\n{release:?}\n{labels:?}\n");
    runs.iter().for_each(|run| identity.push_str(&format!("{}\t{}\n", run.path, run.hash)));
    let folder = format!("group-{:016x}", xxh3_64(identity.as_bytes()));
    let sides = Sides { sides: vec![Side { selection: folder.clone(), runs: founds }], notes: Notes::default() };
    UnsummedGroup { group: Group { folder, format, release, labels, runs, ..Group::default() }, sides }
}

fn rolled(found: &selection::FoundRun, path: String, hash: String) -> Result<RolledRun, StageError> {
    let run = &found.run;
    Ok(RolledRun {
        path,
        release: run.release.to_string(),
        snapshot: run.snapshot.to_string(),
        host: host(run).map(str::to_owned),
        captured_at_us: captured_at(&found.place, run)?,
        bytes: run.bytes,
        findings: run.findings.map(u64::from),
        hash,
    })
}

/// Identity of a run with a list of missing tables.
fn hash(run: &Entry, missing: &[String]) -> String {
    match missing.is_empty() {
        true => run.identity.to_string(),
        false => format!("{} without {}", run.identity, missing.join(", ")),
    }
}
