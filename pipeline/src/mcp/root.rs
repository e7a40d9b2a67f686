//! The lake or run that is served, and its runs by name.

use crate::diagnostic::Diagnostic;
use crate::mcp::failing::OrFail;
use heaplake_compare::trend::compare_releases;
use heaplake_kit::text::visible;
use heaplake_lake::catalogue::Wanted;
use heaplake_lake::nearest::nearest;
use heaplake_lake::selection::{self, FoundRun, Selection};
use heaplake_lake::stored;
use heaplake_lake::upkeep::choice::refuse_other;
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_schemas::run;
use serde_json::json;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs that an error names.
const NAMED: usize = 5;

/// The lake or run that the server answers for.
pub(crate) struct Root {
    /// Folder.
    pub path: PathBuf,
    /// Whether it is one run.
    pub is_run: bool,
}

/// The runs below the root.
pub(crate) struct Runs {
    /// Runs by release and name.
    pub found: Vec<FoundRun>,
    /// Folders that cannot be read, with the problem of each.
    pub damaged: Vec<(PathBuf, String)>,
}

/// Name of a run: `RELEASE/NAME`.
pub(crate) fn name(found: &FoundRun) -> String {
    visible(&format!("{}/{}", found.run.release, found.run.snapshot))
}

/// Releases of runs, the newest first: by their numbers if all begin with one, such as `7.10` or `v2`; else by the last
/// capture of a run.
pub(crate) fn releases<'a>(found: impl Iterator<Item = &'a FoundRun>) -> Vec<(String, Option<i64>)> {
    let mut last: BTreeMap<&str, Option<i64>> = BTreeMap::new();
    for found in found {
        let at = last.entry(&*found.run.release).or_default();
        *at = (*at).max(found.run.captured_at_us);
    }
    let has_number = |name: &str| name.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
    let by_number = last.keys().all(|name| has_number(name));
    let mut releases: Vec<(String, Option<i64>)> = last.into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
    releases.sort_by(|(a, at), (b, other)| {
        let time = if by_number { Ordering::Equal } else { other.cmp(at) };
        time.then_with(|| compare_releases(b, a))
    });
    releases
}

impl Root {
    /// Opens a folder.
    ///
    /// # Errors
    /// It is neither a run nor a lake.
    pub(crate) fn open(path: &Path) -> Result<Self, Diagnostic> {
        let is_run = stored::exists(&path.join(run::FILE));
        if !is_run {
            heaplake_lake::nearest::check_lake(path).map_err(|(cause, advice)| Diagnostic::usage(cause, advice))?;
            refuse_other(path).map_err(Diagnostic::of_usage)?;
        }
        Ok(Self { path: path.to_owned(), is_run })
    }

    /// The runs as they are now.
    pub(crate) fn runs(&self) -> Result<Runs, Failure> {
        if !self.is_run {
            let selection::Runs { found, damaged, .. } =
                selection::runs_like(&self.path, &Selection::default(), Wanted::NO_TABLES).or_fail()?;
            return Ok(Runs { found, damaged });
        }
        match selection::find(&self.path) {
            Ok(Some(found)) => Ok(Runs { found: vec![found], damaged: Vec::new() }),
            Ok(None) => Ok(Runs { found: Vec::new(), damaged: Vec::new() }),
            Err(problem) => Ok(Runs { found: Vec::new(), damaged: vec![(self.path.clone(), problem)] }),
        }
    }
}

impl Runs {
    /// The run of a name: in full, without its release, or the beginning of its name.
    ///
    /// # Errors
    /// None or several have it; with the nearest names.
    pub(crate) fn named(&self, wanted: &str) -> Result<&FoundRun, Failure> {
        let wanted = wanted.trim().trim_end_matches('/');
        let folder = |found: &FoundRun| format!("release={}/snapshot={}", found.run.release, found.run.snapshot);
        let having = |fits: &dyn Fn(&FoundRun) -> bool| -> Vec<&FoundRun> {
            self.found.iter().filter(|found| fits(found)).collect()
        };
        let ways: [&dyn Fn(&FoundRun) -> bool; 3] = [
            &|found| {
                name(found) == wanted || folder(found) == wanted || wanted.ends_with(&format!("/{}", folder(found)))
            },
            &|found| *found.run.snapshot == *wanted,
            &|found| !wanted.is_empty() && (found.run.snapshot.starts_with(wanted) || name(found).starts_with(wanted)),
        ];
        let found = ways.iter().map(|fits| having(fits)).find(|found| !found.is_empty()).unwrap_or_default();
        match found[..] {
            [one] => Ok(one),
            [] => {
                let near = nearest(wanted, self.found.iter().map(name));
                Err(Failure::new(format!("there is no run {wanted:?}"), ADVICE).near(near).then(begin()))
            }
            _ => {
                let problem = format!("{} runs have a name that begins with {wanted:?}", found.len());
                let names = found.iter().take(NAMED).map(|found| name(found)).collect();
                Err(Failure::new(problem, "name one of them as RELEASE/NAME").near(names))
            }
        }
    }

    /// The only run, if there is one.
    pub(crate) fn only(&self) -> Option<&FoundRun> {
        self.found.first().filter(|_| self.found.len() == 1)
    }

    /// Explains that a run must be named.
    pub(crate) fn unnamed(&self) -> Failure {
        if self.found.is_empty() {
            let damaged = self.damaged.first().map(|(path, problem)| format!(": {}: {problem}", path.display()));
            let problem = format!("there is no run to read here{}", damaged.unwrap_or_default());
            return Failure::new(problem, "a person adds runs with heaplake analyze FILE --out LAKE");
        }
        let names = self.found.iter().take(NAMED).map(name).collect();
        let problem = format!("there are {} runs: name one with the argument run", self.found.len());
        Failure::new(problem, ADVICE).near(names).then(begin())
    }
}

const ADVICE: &str = "overview without arguments lists the runs";

fn begin() -> Vec<Next> {
    vec![Next::new("overview", json!({}), "it lists the runs")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use heaplake_schemas::run::{Run, Summary};

    /// A run of a release, captured so many days after 1970.
    fn run(lake: &Path, release: &str, day: i64) -> FoundRun {
        let place = heaplake_lake::place::path(lake, release, "it");
        std::fs::create_dir_all(&place).unwrap();
        let run = Run {
            seal: None,
            heaplake_version: String::new(),
            schema_version: 4,
            snapshot: "it".to_owned(),
            release: release.to_owned(),
            source: String::new(),
            input_bytes: 0,
            input_hash: String::new(),
            input_tag: None,
            captured_at_us: Some(day * 86_400_000_000),
            folder: None,
            options: Options::Analysis(AnalysisOptions::default()),
            tables: Vec::new(),
            summary: Summary::default(),
            replay: None,
            packed: None,
        };
        std::fs::write(place.join(run::FILE), serde_json::to_vec(&run).unwrap()).unwrap();
        selection::find(&place).unwrap().unwrap()
    }

    #[test]
    fn releases_are_ordered_by_number_or_else_by_time() {
        let lake = tempfile::tempdir().unwrap();
        let of = |releases: &[(&str, i64)]| {
            let runs: Vec<FoundRun> = releases.iter().map(|(name, day)| run(lake.path(), name, *day)).collect();
            super::releases(runs.iter()).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("7.9", 9), ("7.10", 3), ("7.2-rc1", 5), ("7.2", 1)]), ["7.10", "7.9", "7.2", "7.2-rc1"]);
        assert_eq!(of(&[("7.9", 9), ("canary", 3), ("7.10", 5)]), ["7.9", "7.10", "canary"]);
    }
}
