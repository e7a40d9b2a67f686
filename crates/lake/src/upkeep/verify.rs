//! Checks every file of every run of a lake.

use super::check::{self, Described, Description, Problem};
use crate::captured::captured_at;
use crate::catalogue::{Catalogue, Wanted};
use crate::entry::Entry;
use crate::place::Standing;
use crate::strangers::{self, Strangers};
use crate::{place, places};
use heaplake_kit::{Context, StageError, storage};
use heaplake_schemas::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Result of a verification.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Verified {
    /// Runs by path.
    pub runs: Vec<Checked>,
    /// Number of tables checked.
    pub tables: usize,
    /// Bytes of tables checked.
    pub bytes: u64,
    /// Entries that belong to no run; not damage.
    #[serde(flatten)]
    pub strangers: Strangers,
}

/// Result for a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// Run folder.
    pub path: PathBuf,
    /// Status.
    pub status: Status,
    /// Problems found.
    pub problems: Vec<Problem>,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Intact.
    Whole,
    /// Right sizes, rows and schema version, but no checksums: made by an older version.
    WithoutChecksums,
    /// Replaced or dropped during the check.
    Changed,
    /// Damaged.
    Damaged,
}

impl Verified {
    /// Number of runs with a status.
    pub fn count(&self, status: Status) -> usize {
        self.runs.iter().filter(|run| run.status == status).count()
    }
}

/// Checks a lake without changing it. Damage is part of the answer, not an error.
pub fn verify(lake: &Path, context: &Context<'_>) -> Result<Verified, StageError> {
    let catalogue = Catalogue::read(lake, WHOLE);
    let (places, level) = places::whole(lake, &catalogue)?;
    let mut verified = Verified::default();
    for (path, problem) in places.damaged {
        let advice = "check the disk, and who may read it; what is no folder has to go from there".to_owned();
        let problem = Problem { path: path.clone(), expected: "a folder of runs".to_owned(), found: problem, advice };
        verified.runs.push(Checked { path, status: Status::Damaged, problems: vec![problem] });
    }
    let (mut described, mut of_descriptions) = (Vec::new(), Vec::new());
    verified.runs.extend(catalogue.damaged.iter().map(|(path, problem)| damaged_segment(path, problem)));
    for place in places.places {
        let Some(Description { standing, run, problem, .. }) = Description::read(&place) else { continue };
        match run {
            Some(run) => {
                let problem = problem.or_else(|| differs(&place, &run, &catalogue));
                described.push(Described::new(place, standing, &run));
                of_descriptions.push(problem);
            }
            None => {
                let problems = problem.into_iter().collect();
                verified.runs.push(Checked { path: place, status: Status::Damaged, problems });
            }
        }
    }
    context.check()?;
    verified.strangers = match level {
        Some(level) => strangers::of_store(&lake.to_string_lossy(), level),
        None => strangers::of_folder(&lake.join(place::NEW)),
    };
    verified.tables = described.iter().map(|run| run.tables.len()).sum();
    verified.bytes = described.iter().map(Described::bytes).fold(0, u64::saturating_add);
    context.progress.begin("verify", verified.bytes);
    let of_tables = check::tables(&described, context)?;
    context.progress.end();
    let all = described.into_iter().zip(of_descriptions).zip(of_tables);
    verified.runs.extend(
        all.map(|((run, of_description), of_tables)| {
            checked(run, of_description.into_iter().chain(of_tables).collect())
        }),
    );
    verified.runs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(verified)
}

/// All that the catalogue says of a run.
const WHOLE: Wanted<'static> = Wanted { tables: &|_| true, details: true };

const INDEX: &str = "heaplake lake index writes the catalogue anew";

fn damaged_segment(path: &Path, problem: &str) -> Checked {
    let (expected, found) = ("a segment of the catalogue".to_owned(), problem.to_owned());
    let problem = Problem { path: path.to_owned(), expected, found, advice: INDEX.to_owned() };
    Checked { path: path.to_owned(), status: Status::Damaged, problems: vec![problem] }
}

/// Compares what the catalogue says of a run, as far as it is of this version, with its description.
fn differs(place: &Path, run: &Run, catalogue: &Catalogue) -> Option<Problem> {
    let version = match storage::is_url(place) {
        true => places::version(place)?,
        false => Standing::examined(place).ok()??.1?,
    };
    let known = catalogue.find(place, &version)?.entry();
    let mut entry = Entry::of(run).ok()?;
    entry.captured_at_us = captured_at(place, &entry).ok()?;
    (known != entry).then(|| Problem {
        path: place.to_owned(),
        expected: "a catalogue that says the same as the description".to_owned(),
        found: "one that says something else".to_owned(),
        advice: INDEX.to_owned(),
    })
}

fn checked(run: Described, problems: Vec<Problem>) -> Checked {
    let status = match (problems.is_empty(), run.has_checksums) {
        (true, true) => Status::Whole,
        (true, false) => Status::WithoutChecksums,
        (false, _) if run.is_gone() => {
            return Checked { path: run.place, status: Status::Changed, problems: Vec::new() };
        }
        (false, _) => Status::Damaged,
    };
    Checked { path: run.place, status, problems }
}
