//! Which runs of a lake are meant: a run, a folder of runs, or a selection such as `release=7.2,label.host=web*`.

use crate::{commit, stored};
use glob::Pattern;
use heaplake_kit::{StageError, storage};
use heaplake_schemas::run::{self, Run};
use std::path::{Path, PathBuf};

/// Conditions on runs. Of several conditions on one field one must hold; conditions on different fields must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    conditions: Vec<(Field, Pattern)>,
}

/// What a condition is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Release,
    Snapshot,
    Label(String),
}

impl Selection {
    /// Reads a selection: `FIELD=PATTERN`, separated by commas. A field is `release`, `snapshot` or `label.NAME`; a
    /// pattern is a glob pattern.
    ///
    /// # Errors
    /// One line that says which part cannot be read, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let condition = |part: &str| {
            let (field, pattern) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is not of the form FIELD=PATTERN"))?;
            let field = match field.trim() {
                "release" => Field::Release,
                "snapshot" => Field::Snapshot,
                other => match other.strip_prefix("label.").filter(|name| !name.is_empty()) {
                    Some(name) => Field::Label(name.to_owned()),
                    None => return Err(format!("there is no field {other:?}: use release, snapshot or label.NAME")),
                },
            };
            let pattern = Pattern::new(pattern.trim()).map_err(|error| format!("pattern {pattern:?}: {error}"))?;
            Ok((field, pattern))
        };
        Ok(Self { conditions: text.split(',').map(condition).collect::<Result<_, _>>()? })
    }

    /// Adds a condition on the release.
    pub fn add_release(&mut self, pattern: Pattern) {
        self.conditions.push((Field::Release, pattern));
    }

    /// Adds a condition on a label.
    pub fn add_label(&mut self, name: String, pattern: Pattern) {
        self.conditions.push((Field::Label(name), pattern));
    }

    /// Whether there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether a run is selected.
    #[must_use]
    pub fn takes(&self, run: &Run) -> bool {
        let label = |name: &str| run.options.labels().get(name).map(String::as_str);
        self.holds(&run.release, &run.snapshot, &label)
    }

    /// Whether a run is selected of which nothing else is known; no condition on a label holds.
    #[must_use]
    pub fn takes_named(&self, release: &str, snapshot: &str) -> bool {
        self.holds(release, snapshot, &|_| None)
    }

    fn holds<'r>(&self, release: &'r str, snapshot: &'r str, label: &dyn Fn(&str) -> Option<&'r str>) -> bool {
        let value = |field: &Field| match field {
            Field::Release => Some(release),
            Field::Snapshot => Some(snapshot),
            Field::Label(name) => label(name),
        };
        self.conditions.iter().all(|(field, _)| {
            let of_field = self.conditions.iter().filter(|(other, _)| other == field);
            value(field).is_some_and(|value| of_field.clone().any(|(_, pattern)| pattern.matches(value)))
        })
    }
}

/// A run of a lake.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its folder.
    pub place: PathBuf,
    /// Its description.
    pub run: Run,
}

/// The runs below a folder, and what should be a run and is none.
#[derive(Debug, Default)]
pub struct Runs {
    /// The runs, by release and name.
    pub found: Vec<Found>,
    /// Folders that should be runs with the problem of each, by path.
    pub damaged: Vec<(PathBuf, String)>,
}

/// The runs of a lake, or of a folder `release=…` in one.
///
/// # Errors
/// [`StageError::Io`] where the folder cannot be read; a run that cannot be read is part of the answer.
pub fn runs(folder: &Path) -> Result<Runs, StageError> {
    let places = places(folder)?;
    let mut runs = Runs { found: Vec::new(), damaged: places.damaged };
    for place in places.places {
        match find(&place) {
            Ok(found) => runs.found.extend(found),
            Err(problem) => runs.damaged.push((place, problem)),
        }
    }
    runs.found.sort_by(|a, b| (&a.run.release, &a.run.snapshot).cmp(&(&b.run.release, &b.run.snapshot)));
    runs.damaged.sort();
    Ok(runs)
}

/// The folders that should be runs below a folder.
#[derive(Debug, Default)]
pub struct Places {
    /// Their paths, sorted.
    pub places: Vec<PathBuf>,
    /// Folders of releases that cannot be read with the problem of each.
    pub damaged: Vec<(PathBuf, String)>,
}

/// The folders that should be runs in a lake, or in a folder `release=…` of one.
///
/// # Errors
/// [`StageError::Io`] where the folder cannot be read.
pub fn places(folder: &Path) -> Result<Places, StageError> {
    let mut found = Places { places: folders(folder, "snapshot=")?, damaged: Vec::new() };
    for release in folders(folder, "release=")? {
        match folders(&release, "snapshot=") {
            Ok(places) => found.places.extend(places),
            // It went with its last run.
            Err(_) if !release.exists() => {}
            Err(error) => found.damaged.push((release, error.to_string())),
        }
    }
    found.places.sort();
    stored::expect(&found.places);
    Ok(found)
}

/// The run in a folder; returns `None` if the folder is gone, since another command dropped the run.
///
/// # Errors
/// Why it is no run, in a line.
pub fn find(place: &Path) -> Result<Option<Found>, String> {
    match commit::read(place) {
        Ok(Some(run)) => Ok(Some(Found { place: place.to_owned(), run })),
        Ok(None) if !place.exists() => Ok(None),
        Ok(None) => Err(format!("there is no {}", run::FILE)),
        Err(StageError::Table { problem, .. }) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// The folders of a folder whose names begin so.
fn folders(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, StageError> {
    let entries = storage::entries(folder).map_err(|error| StageError::io(folder, "read", error))?;
    let folders = entries.into_iter().filter(|entry| entry.is_folder && entry.name.starts_with(prefix));
    Ok(folders.map(|entry| folder.join(entry.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use heaplake_schemas::run::Summary;

    fn run(release: &str, host: &str) -> Run {
        let labels = [("host".to_owned(), host.to_owned())].into();
        Run {
            seal: None,
            heaplake_version: String::new(),
            schema_version: 0,
            snapshot: "a".to_owned(),
            release: release.to_owned(),
            source: String::new(),
            input_bytes: 0,
            input_hash: String::new(),
            captured_at_us: None,
            folder: None,
            options: Options::Analysis(AnalysisOptions { labels, ..AnalysisOptions::default() }),
            tables: Vec::new(),
            summary: Summary::default(),
            replay: None,
        }
    }

    #[test]
    fn conditions_on_one_field_are_alternatives() {
        let selection = Selection::parse("release=7.1,release=7.2,label.host=web*").unwrap();
        assert!(selection.takes(&run("7.1", "web3")) && selection.takes(&run("7.2", "web")));
        assert!(!selection.takes(&run("7.3", "web3")) && !selection.takes(&run("7.1", "db")));
        assert!(!Selection::parse("label.rack=*").unwrap().takes(&run("7.1", "web3")));
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        for (text, part) in [("7.1", "FIELD=PATTERN"), ("host=web", "label.NAME"), ("release=[", "pattern")] {
            let problem = Selection::parse(text).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
