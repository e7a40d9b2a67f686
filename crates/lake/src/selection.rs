//! Selects runs of a lake: a run, a folder of runs, or conditions such as `release=7.2,label.host=web*`.

use crate::catalogue::{Catalogue, Wanted};
use crate::entry::Entry;
use crate::handles;
use crate::layout::{Layout, Named};
use crate::nearest::{clause, nearest};
use crate::period::Period;
use crate::places::{places_by, version};
use crate::seal::digits;
use crate::standing::Standing;
use crate::stored;
use glob::Pattern;
use heaplake_kit::{StageError, storage};
#[cfg(test)]
use heaplake_schemas::run;
use std::path::{Path, PathBuf};

pub use crate::entries::Places;
pub use crate::found::{FoundRun, OpenRun, find, hold, open};
pub use crate::places::places;

/// Fields of conditions, for messages.
const FIELDS: &str = "release, snapshot, format, status, label.NAME, since, until or last";

/// Conditions on runs. Conditions on one field are alternatives; those on different fields must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    conditions: Vec<(Field, Pattern)>,
    time: Period,
}

/// Field of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Release,
    Snapshot,
    Format,
    Status,
    Label(String),
}

impl Selection {
    /// Parses a selection: `FIELD=PATTERN`, separated by commas. A field is `release`, `snapshot`, `format`, `status`
    /// (`whole` or `partial`) or `label.NAME`; a pattern is a glob. `since=` and `until=` take a date or a time (UTC),
    /// the latter including its whole day or minute; `last=1d` is an age relative to the newest selected run.
    ///
    /// # Errors
    /// One line with the invalid part and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut selection = Self::default();
        for part in text.split(',') {
            let (field, pattern) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is not of the form FIELD=PATTERN"))?;
            let (field, pattern) = (field.trim(), pattern.trim());
            if selection.time.read(field, pattern)? {
                continue;
            }
            let field = match field {
                "release" => Field::Release,
                "snapshot" => Field::Snapshot,
                "format" => Field::Format,
                "status" => Field::Status,
                other => match other.strip_prefix("label.").filter(|name| !name.is_empty()) {
                    Some(name) => Field::Label(name.to_owned()),
                    None => return Err(format!("there is no field {other:?}: use {FIELDS}")),
                },
            };
            let pattern = Pattern::new(pattern).map_err(|error| format!("pattern {pattern:?}: {error}"))?;
            selection.conditions.push((field, pattern));
        }
        Ok(selection)
    }

    /// Adds a condition on the release.
    pub fn add_release(&mut self, pattern: Pattern) {
        self.conditions.push((Field::Release, pattern));
    }

    /// Adds a condition on a label.
    pub fn add_label(&mut self, name: String, pattern: Pattern) {
        self.conditions.push((Field::Label(name), pattern));
    }

    /// The patterns of releases, and of labels as `NAME=PATTERN`.
    pub fn patterns(&self) -> [Vec<String>; 2] {
        let (mut releases, mut labels) = (Vec::new(), Vec::new());
        for (field, pattern) in &self.conditions {
            match field {
                Field::Release => releases.push(pattern.as_str().to_owned()),
                Field::Label(name) => labels.push(format!("{name}={pattern}")),
                Field::Snapshot | Field::Format | Field::Status => {}
            }
        }
        [releases, labels]
    }

    /// True if there is no condition.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.time.is_any()
    }

    /// Removes runs older than `last` allows.
    pub fn leave_newest(&self, runs: &mut Vec<FoundRun>) {
        let Some(last) = self.time.last else { return };
        let newest = runs.iter().filter_map(|found| found.run.captured_at_us).max();
        let since = newest.map_or(i64::MIN, |newest| newest.saturating_sub(last));
        runs.retain(|found| found.run.captured_at_us.is_some_and(|at| at >= since));
    }

    /// True if the run matches.
    pub fn takes(&self, run: &Entry) -> bool {
        self.time.takes(run.captured_at_us) && self.holds(&|field| value(field, run), false)
    }

    /// True if a run of which only the place is known matches; conditions on labels do not.
    pub fn takes_place(&self, place: &Path) -> bool {
        self.time.is_any() && self.holds(&|field| named(field, place), false)
    }

    /// True if an unreadable run or release may match: its path has release and name, and conditions on unknown fields
    /// may hold.
    pub fn may_take(&self, path: &Path) -> bool {
        self.holds(&|field| named(field, path), true)
    }

    fn holds<'a>(&self, value: &dyn Fn(&Field) -> Option<&'a str>, if_unknown: bool) -> bool {
        self.conditions.iter().all(|(field, _)| match value(field) {
            Some(value) => self.of_field(field).any(|pattern| pattern.matches(value)),
            None => if_unknown,
        })
    }

    fn of_field(&self, field: &Field) -> impl Iterator<Item = &Pattern> {
        self.conditions.iter().filter(move |(other, _)| other == field).map(|(_, pattern)| pattern)
    }

    /// Describes the first condition that no run of a lake meets, with the nearest existing values. `None` if each
    /// condition is met, or may be met by an unreadable run, or if the lake is empty.
    pub fn unmet(&self, runs: &[&Entry], damaged: &[PathBuf]) -> Option<String> {
        let is_met = |field: &Field| {
            let fits = |value: Option<&str>, unknown: bool| {
                value.map_or(unknown, |value| self.of_field(field).any(|pattern| pattern.matches(value)))
            };
            runs.iter().any(|run| fits(value(field, run), false))
                || damaged.iter().any(|path| fits(named(field, path), true))
        };
        if runs.is_empty() && damaged.is_empty() {
            return None;
        }
        let (field, pattern) = self.conditions.iter().find(|(field, _)| !is_met(field))?;
        let values = || runs.iter().filter_map(|run| value(field, run)).map(str::to_owned);
        let (problem, near) = match field {
            Field::Release => (format!("no run has the release {pattern}"), nearest(pattern.as_str(), values())),
            Field::Snapshot => (format!("no run has the name {pattern}"), nearest(pattern.as_str(), values())),
            Field::Format => (format!("no run has the format {pattern}"), nearest(pattern.as_str(), values())),
            Field::Status => (format!("no run has the status {pattern}"), nearest(pattern.as_str(), values())),
            Field::Label(name) if values().next().is_none() => {
                let names = runs.iter().flat_map(|run| run.labels.iter().map(|(name, _)| name.to_owned()));
                (format!("no run has a label {name}"), nearest(name, names))
            }
            Field::Label(name) => {
                (format!("no run has the label {name}={pattern}"), nearest(pattern.as_str(), values()))
            }
        };
        Some(format!("{problem}{}", clause(&near)))
    }
}

/// Returns a field of a run.
fn value<'a>(field: &Field, run: &'a Entry) -> Option<&'a str> {
    match field {
        Field::Release => Some(&run.release),
        Field::Snapshot => Some(&run.snapshot),
        Field::Format => Some(&run.format),
        Field::Status => Some(if run.partial.is_some() { "partial" } else { "whole" }),
        Field::Label(name) => run.labels.get(name),
    }
}

/// Returns a field of the path of a run or of a release.
fn named<'a>(field: &Field, path: &'a Path) -> Option<&'a str> {
    let part = |prefix: &str| {
        let mut parts = path.iter().rev().take(2);
        parts.find_map(|part| part.to_str()?.strip_prefix(prefix))
    };
    match field {
        Field::Release => part("release="),
        Field::Snapshot => part("snapshot="),
        Field::Format | Field::Status | Field::Label(_) => None,
    }
}

/// The runs below a folder, and damaged ones.
#[derive(Debug, Default)]
pub struct Runs {
    /// Runs, sorted by release and name.
    pub found: Vec<FoundRun>,
    /// Folders that should be runs, with the problem of each, sorted by path.
    pub damaged: Vec<(PathBuf, String)>,
    /// Folders of runs that another command dropped meanwhile.
    pub gone: Vec<PathBuf>,
}

impl Runs {
    /// Describes the first condition that no run meets; see [`Selection::unmet`].
    pub fn unmet(&self, selection: &Selection) -> Option<String> {
        let runs: Vec<&Entry> = self.found.iter().map(|found| &found.run).collect();
        let damaged: Vec<PathBuf> = self.damaged.iter().map(|(path, _)| path.clone()).collect();
        selection.unmet(&runs, &damaged)
    }
}

/// Returns the runs of a lake, or of a folder `release=…` in one, with all tables. Unreadable runs are part of the
/// result.
pub fn runs(folder: &Path) -> Result<Runs, StageError> {
    runs_like(folder, &Selection::default(), Wanted::TABLES)
}

/// As [`runs`], but only those that match, with what is `wanted` of each. Runs that the catalogue knows are not opened.
pub fn runs_like(folder: &Path, selection: &Selection, wanted: Wanted<'_>) -> Result<Runs, StageError> {
    let mut runs = Runs::default();
    let damaged = each(folder, selection, wanted, |place, run| match run {
        Ok(Some((found, _))) if selection.takes(&found.run) => runs.found.push(found),
        Ok(Some(_)) => {}
        Ok(None) => runs.gone.push(place),
        Err(problem) => runs.damaged.push((place, problem)),
    })?;
    runs.damaged.extend(damaged);
    runs.found.sort_by(|a, b| (&a.run.release, &a.run.snapshot).cmp(&(&b.run.release, &b.run.snapshot)));
    runs.damaged.sort();
    Ok(runs)
}

/// A run, with the bytes of its files if the catalogue knows them; `None` if it was dropped; its problem.
pub(crate) type Read = Result<Option<(FoundRun, Option<u64>)>, String>;

/// Calls `take` for each run of a folder that may match by path. Returns entries that should be folders of runs.
pub(crate) fn each(
    folder: &Path,
    selection: &Selection,
    wanted: Wanted<'_>,
    mut take: impl FnMut(PathBuf, Read),
) -> Result<Vec<(PathBuf, String)>, StageError> {
    let catalogue = Catalogue::read(folder, wanted);
    let mut places = places_by(folder, &catalogue)?;
    places.places.retain(|place| selection.may_take(place));
    let is_unknown = |place: &&PathBuf| version(place).is_none_or(|version| catalogue.find(place, &version).is_none());
    if storage::is_url(folder) {
        stored::expect(&places.places.iter().filter(is_unknown).cloned().collect::<Vec<_>>());
    }
    for place in places.places {
        let read = match of_catalogue(&place, &catalogue) {
            Some((found, bytes)) => Ok(Some((found, bytes))),
            None => find(&place).map(|found| found.map(|found| (found, None))),
        };
        take(place, read);
    }
    Ok(places.damaged)
}

/// The run at a place as the catalogue has it, and the bytes of its files if none were added since; `None` if the
/// catalogue does not describe it.
fn of_catalogue(place: &Path, catalogue: &Catalogue) -> Option<(FoundRun, Option<u64>)> {
    if catalogue.is_empty() {
        return None;
    }
    let is_remote = storage::is_url(place);
    let (standing, version) = match is_remote {
        true => (None, version(place)?),
        false => {
            // Held tables belong to the description with which they were opened.
            if handles::of(place).is_some() {
                return None;
            }
            let (standing, version) = Standing::examined(place).ok()??;
            (Some(standing), version?)
        }
    };
    let known = catalogue.find(place, &version)?;
    let entry = known.entry();
    if is_remote {
        let tables = entry.tables.iter();
        let tables = tables.map(|table| Named {
            file: table.file.to_string(),
            bytes: Some(table.bytes),
            xxh3_64: table.xxh3_64.map(digits),
        });
        let (folder, packed) = (entry.folder.as_deref().map(str::to_owned), entry.packed.clone());
        let layout = Layout {
            folder,
            tables: tables.collect(),
            schema_version: entry.schema_version,
            packed,
            ..Layout::default()
        };
        stored::remember(place, layout);
    }
    let bytes = known.is_complete.then(|| known.disk_bytes());
    Some((FoundRun::catalogued(place.to_owned(), entry, standing, known.is_complete), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::options::{AnalysisOptions, Options};

    fn run(release: &str, host: &str) -> Entry {
        let labels = [("host".to_owned(), host.to_owned())].into();
        let run = run::Run {
            seal: None,
            heaplake_version: String::new(),
            schema_version: 0,
            snapshot: "a".to_owned(),
            release: release.to_owned(),
            source: String::new(),
            input_bytes: 0,
            input_hash: String::new(),
            input_tag: None,
            captured_at_us: None,
            folder: None,
            packed: None,
            options: Options::Analysis(AnalysisOptions { labels, ..AnalysisOptions::default() }),
            tables: Vec::new(),
            summary: run::Summary::default(),
            replay: None,
        };
        Entry::of(&run).unwrap()
    }

    #[test]
    fn conditions_on_one_field_are_alternatives() {
        let selection = Selection::parse("release=7.1,release=7.2,label.host=web*").unwrap();
        assert!(selection.takes(&run("7.1", "web3")) && selection.takes(&run("7.2", "web")));
        assert!(!selection.takes(&run("7.3", "web3")) && !selection.takes(&run("7.1", "db")));
        assert!(!Selection::parse("label.rack=*").unwrap().takes(&run("7.1", "web3")));
    }

    #[test]
    fn times_are_bounds() {
        const DAY: i64 = 86_400_000_000;
        let at = |day: i64| Entry { captured_at_us: Some(day * DAY + 5), ..run("1", "a") };
        let takes = |text: &str, day: i64| Selection::parse(text).unwrap().takes(&at(day));
        assert!(takes("since=1970-01-02", 1) && !takes("since=1970-01-03", 1));
        assert!(takes("until=1970-01-02", 1) && !takes("until=1970-01-01", 1));
        assert!(takes("release=1,since=1970-01-02,until=1970-01-02,status=whole", 1));
        assert!(!Selection::parse("since=1970-01-01").unwrap().takes(&run("1", "a")), "it does not say when");
        assert!(!takes("status=partial", 1) && !takes("format=hprof", 1) && takes("format=", 1));
        for (text, part) in [("since=yesterday", "2026-11-22"), ("last=1y", "such as 30d"), ("until=30d", "2026-11-22")]
        {
            let problem = Selection::parse(text).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn what_cannot_be_read_may_be_selected_unless_its_path_rules_it_out() {
        let may = |selection: &str, path: &str| Selection::parse(selection).unwrap().may_take(Path::new(path));
        for (path, expected) in [
            ("lake/release=7.1/snapshot=a", true),
            ("lake/release=7.2/snapshot=a", false),
            ("lake/release=7.1/snapshot=b", false),
            ("lake/release=7.1", true),
            ("lake/release=7.2", false),
            ("snapshot=a", true),
        ] {
            assert_eq!(may("release=7.1,snapshot=a,label.host=web", path), expected, "{path}");
        }
        assert!(!Selection::parse("label.host=web").unwrap().takes_place(Path::new("release=7.1/snapshot=a")));
    }

    #[test]
    fn a_condition_that_no_run_fulfils_is_named_with_the_nearest() {
        let (one, two) = (run("7.1", "web3"), run("7.2", "db"));
        let unmet = |text: &str, damaged: &[PathBuf]| Selection::parse(text).unwrap().unmet(&[&one, &two], damaged);
        assert_eq!(unmet("release=7.*,label.host=db", &[]), None);
        assert_eq!(unmet("release=7.1,label.host=db", &[]), None, "each holds for some run");
        let told = |text: &str| unmet(text, &[]).unwrap();
        assert_eq!(told("release=7.3"), "no run has the release 7.3; the nearest: 7.1, 7.2");
        assert_eq!(told("label.hots=db"), "no run has a label hots; the nearest: host");
        assert_eq!(told("label.host=web9"), "no run has the label host=web9; the nearest: web3, db");
        // An unreadable run may have the label, but not another release.
        let damaged = [PathBuf::from("lake/release=7.4/snapshot=a")];
        assert_eq!(unmet("label.host=web9", &damaged), None);
        assert!(unmet("release=7.3", &damaged).is_some() && unmet("release=7.4", &damaged).is_none());
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        for (text, part) in [("7.1", "FIELD=PATTERN"), ("host=web", "label.NAME"), ("release=[", "pattern")] {
            let problem = Selection::parse(text).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
