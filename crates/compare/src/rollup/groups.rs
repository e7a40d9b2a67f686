//! Groups the runs of a lake.

use crate::error::{CompareError, no_label};
use crate::sides::{Notes, Side, Sides, format, host, settle};
use heaplake_kit::StageError;
use heaplake_lake::captured::captured_at;
use heaplake_lake::selection;
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::comparison::Missed;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::rollup::{Group, RolledRun, Rollup};
use heaplake_schemas::run::Run;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// First schema version with fingerprints.
const WITH_FINGERPRINTS: u32 = 3;

/// A grouping key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Release of the run.
    Release,
    /// Value of a label.
    Label(String),
}

impl std::str::FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("label.")) {
            ("release", _) => Ok(Self::Release),
            (_, Some(name)) if !name.is_empty() => Ok(Self::Label(name.to_owned())),
            _ => Err("use release or label.NAME".to_owned()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release => f.write_str("release"),
            Self::Label(name) => write!(f, "label.{name}"),
        }
    }
}

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

/// Grouping key values: format, release, labels.
type Common = (String, Option<String>, BTreeMap<String, String>);

/// Groups the runs of a lake, except known damaged ones. Runs described by an earlier rollup are not read again.
///
/// # Errors
/// [`CompareError`] also if no run can be summed up.
pub(super) fn find(
    lake: &Path,
    by: &[String],
    earlier: &Rollup,
    known_damaged: &BTreeMap<PathBuf, String>,
) -> Result<Groups, CompareError> {
    let known: FxHashMap<(&str, &str), &RolledRun> =
        earlier.groups.iter().flat_map(|group| &group.runs).map(|run| ((&*run.path, &*run.hash), run)).collect();
    let selection::Runs { found, damaged, gone } = selection::runs(lake)?;
    let mut notes = Notes::default();
    damaged.iter().for_each(|(path, problem)| notes.miss(path, problem));
    gone.iter().for_each(|path| notes.dropped(path));
    let mut groups: BTreeMap<Common, (Vec<RolledRun>, Vec<selection::FoundRun>)> = BTreeMap::new();
    for found in found {
        if let Some(problem) = known_damaged.get(&found.place) {
            notes.miss(&found.place, problem);
            continue;
        }
        // A run is held only while its group is computed: there may be more runs than file descriptors.
        let Some((found, missing)) = settle(found, &|_| true, None, &mut notes) else { continue };
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
        let (runs, founds) = groups.entry(common(&found.run, by)).or_default();
        runs.push(rolled);
        founds.push(found);
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
    Ok(Groups { groups: groups.into_iter().map(|(common, runs)| group(common, runs)).collect(), notes })
}

/// Refuses a lake without any run, damaged or not, before a folder for its rollup is created.
pub(super) fn refuse_empty(lake: &Path) -> Result<(), CompareError> {
    let selection::Places { places, damaged } = selection::places(lake)?;
    if places.is_empty() && damaged.is_empty() { Err(nothing(lake)) } else { Ok(()) }
}

fn nothing(lake: &Path) -> CompareError {
    let cause = format!("{}: there is no run to sum up", lake.display());
    CompareError::refused(cause, "name a lake: the folder that --out of heaplake analyze named")
}

/// Refuses a label that no run has, unless a run was missed.
fn refuse_unknown_label(
    by: &[String],
    groups: &BTreeMap<Common, (Vec<RolledRun>, Vec<selection::FoundRun>)>,
    notes: &Notes,
) -> Result<(), CompareError> {
    let names = by.iter().filter_map(|key| key.strip_prefix("label."));
    let has = |name: &str| groups.keys().any(|(_, _, labels)| labels.contains_key(name));
    match names.into_iter().find(|name| notes.missed.is_empty() && !has(name)) {
        Some(name) => Err(no_label(name, groups.values().flat_map(|(_, founds)| founds))),
        None => Ok(()),
    }
}

/// Whether two groups have the same key.
pub(super) fn same_key(one: &Group, other: &Group) -> bool {
    (&one.format, &one.release, &one.labels) == (&other.format, &other.release, &other.labels)
}

fn common(run: &Run, by: &[String]) -> Common {
    let labels = run.options.labels();
    let label = |key: &String| {
        let name = key.strip_prefix("label.")?;
        Some((name.to_owned(), labels.get(name)?.clone()))
    };
    let release = by.iter().any(|key| key == "release").then(|| run.release.clone());
    (format(run).to_owned(), release, by.iter().filter_map(label).collect())
}

fn group(common: Common, (runs, founds): (Vec<RolledRun>, Vec<selection::FoundRun>)) -> UnsummedGroup {
    let (format, release, labels) = common;
    let mut identity = format!("{SCHEMA_VERSION}\n{format}\n{release:?}\n{labels:?}\n");
    runs.iter().for_each(|run| identity.push_str(&format!("{}\t{}\n", run.path, run.hash)));
    let folder = format!("group-{:016x}", xxh3_64(identity.as_bytes()));
    let side = Side { selection: folder.clone(), runs: founds };
    let sides = Sides { sides: vec![side], remarks: Vec::new(), missed: Vec::new(), half_deleted: Vec::new() };
    UnsummedGroup { group: Group { folder, format, release, labels, runs, ..Group::default() }, sides }
}

fn rolled(found: &selection::FoundRun, path: String, hash: String) -> Result<RolledRun, StageError> {
    let run = &found.run;
    let of = |severity| run.summary.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    Ok(RolledRun {
        path,
        release: run.release.clone(),
        snapshot: run.snapshot.clone(),
        host: host(run).map(str::to_owned),
        captured_at_us: captured_at(&found.place, run)?,
        bytes: run.replay.as_ref().map_or(run.summary.shallow_bytes, |replay| replay.metadata.allocated_bytes),
        findings: [Severity::High, Severity::Medium, Severity::Low].map(of),
        hash,
    })
}

/// Identity of a run: the seal of its description, or else a hash of it, and the list of missing tables.
fn hash(run: &Run, missing: &[String]) -> String {
    if !missing.is_empty() {
        return format!("{} without {}", hash(run, &[]), missing.join(", "));
    }
    if let Some(seal) = &run.seal {
        return seal.clone();
    }
    // A parsed description can always be serialised.
    format!("{:032x}", xxh3_128(&serde_json::to_vec(run).unwrap_or_default()))
}
