//! The sides of a comparison: the runs that each of them is.

use crate::error::CompareError;
use heaplake_kit::storage;
use heaplake_lake::selection::{self, Found, Selection};
use heaplake_lake::{commit, stored};
use heaplake_schemas::comparison::{ComparedRun, Side as Described};
use heaplake_schemas::run::{self, Run};
use std::path::Path;

/// Label of a run that names its host.
const HOST: &str = "host";

/// A side.
#[derive(Clone, Debug)]
pub struct Side {
    /// As the user named it.
    pub selection: String,
    /// Its runs, by release and name; at least one.
    pub runs: Vec<Found>,
}

/// Sides whose runs can be compared.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The sides, as they were given.
    pub sides: Vec<Side>,
    /// Format of the inputs of all runs.
    pub format: String,
    /// What to say of them, a sentence each.
    pub remarks: Vec<String>,
}

impl Sides {
    /// Finds the runs. A side is the folder of a run; a folder of runs; or a selection of the runs of `lake`.
    ///
    /// # Errors
    /// [`CompareError`] where a side is none of these or has no runs, or the runs are of different formats.
    pub fn find(named: &[String], lake: Option<&Path>) -> Result<Self, CompareError> {
        let mut remarks = Vec::new();
        let mut sides = named.iter().map(|side| find(side, lake, &mut remarks)).collect::<Result<Vec<_>, _>>()?;
        sides.iter_mut().flat_map(|side| &mut side.runs).for_each(|found| keep_present(found, &mut remarks));
        let format = one_format(&sides)?;
        let partial = |found: &Found| {
            let leaves_out = found.run.summary.partial.as_ref()?;
            Some(format!("{} covers a part of its input only: {leaves_out}.", found.place.display()))
        };
        remarks.extend(sides.iter().flat_map(|side| side.runs.iter().filter_map(partial)));
        remarks.extend(other_names(&sides));
        remarks.sort();
        remarks.dedup();
        Ok(Self { sides, format, remarks })
    }

    /// All runs, with the number of their side.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &Found)> {
        self.sides.iter().enumerate().flat_map(|(number, side)| side.runs.iter().map(move |run| (number, run)))
    }
}

fn find(named: &str, lake: Option<&Path>, remarks: &mut Vec<String>) -> Result<Side, CompareError> {
    let path = Path::new(named);
    let side = |runs: Vec<Found>| Side { selection: named.to_owned(), runs };
    if let Some(run) = commit::read(path)? {
        return Ok(side(vec![Found { place: path.to_owned(), run }]));
    }
    if storage::is_folder(path) {
        let runs = selection::runs(path)?;
        tell_of_damaged(&runs.damaged, remarks);
        return match runs.found.is_empty() {
            true => Err(CompareError::refused(
                format!("{named}: there is no run in this folder"),
                "name the folder of a run, a folder of runs, or a selection such as release=7.2 with --lake LAKE",
            )),
            false => Ok(side(runs.found)),
        };
    }
    let selection = Selection::parse(named).map_err(|problem| {
        CompareError::refused(
            format!("{named}: there is no such run, and as a selection: {problem}"),
            "name the folder of a run, or a selection such as 'release=7.2,label.host=web*' with --lake LAKE",
        )
    })?;
    let Some(lake) = lake else {
        return Err(CompareError::refused(
            format!("{named}: a selection needs a lake"),
            "give --lake LAKE; heaplake ls LAKE lists its runs",
        ));
    };
    let runs = selection::runs(lake)?;
    tell_of_damaged(&runs.damaged, remarks);
    let taken: Vec<Found> = runs.found.into_iter().filter(|found| selection.takes(&found.run)).collect();
    if taken.is_empty() {
        let cause = format!("{named}: no run in {} is like that", lake.display());
        return Err(CompareError::refused(
            cause,
            "heaplake ls LAKE lists the runs; heaplake show prints the labels of one",
        ));
    }
    Ok(side(taken))
}

/// What to say where runs have signatures by different rules of names.
fn other_names(sides: &[Side]) -> Option<String> {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    let first = runs.next()?;
    let other = runs.find(|other| other.run.options.names() != first.run.options.names())?;
    let (one, two) = (first.place.display(), other.place.display());
    Some(format!("{one} and {two} have signatures by different rules: give the rules for both with --names."))
}

/// Forgets the tables of a run whose files are gone. In a store, nobody removes single files.
pub fn keep_present(found: &mut Found, remarks: &mut Vec<String>) {
    let Found { place, run } = found;
    if storage::is_url(place) {
        return;
    }
    let files = stored::files(place);
    let is_there = |table: &run::Table| files.iter().any(|(name, _)| *name == table.file);
    let (present, gone) = std::mem::take(&mut run.tables).into_iter().partition(is_there);
    run.tables = present;
    let gone: Vec<run::Table> = gone;
    let names: Vec<&str> = gone.iter().map(|table| table.file.as_str()).collect();
    if !names.is_empty() {
        remarks.push(format!("{} is half deleted, without {}.", place.display(), names.join(", ")));
    }
}

fn tell_of_damaged(damaged: &[(std::path::PathBuf, String)], remarks: &mut Vec<String>) {
    remarks.extend(damaged.iter().map(|(path, problem)| format!("{} is left out: {problem}.", path.display())));
}

/// The format that all runs have.
fn one_format(sides: &[Side]) -> Result<String, CompareError> {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    let Some(first) = runs.next() else {
        return Err(CompareError::refused("there is nothing to compare", "name two sides"));
    };
    let format = format(&first.run);
    match runs.find(|other| self::format(&other.run) != format) {
        None => Ok(format.to_owned()),
        Some(other) => {
            let (one, two) = (first.place.display(), other.place.display());
            let cause = format!("{one} is of format {format}, {two} of format {}", self::format(&other.run));
            Err(CompareError::refused(
                cause,
                "compare runs of one format; a selection can name them by release and label",
            ))
        }
    }
}

/// Format of the input of a run.
#[must_use]
pub fn format(run: &Run) -> &str {
    run.replay.as_ref().map_or(&run.summary.format, |replay| &replay.facts.format)
}

/// The host of a run, where a label names it.
#[must_use]
pub fn host(run: &Run) -> Option<&str> {
    run.options.labels().get(HOST).map(String::as_str)
}

/// Whether a run has a table.
#[must_use]
pub fn has_table(run: &Run, file: &str) -> bool {
    run.tables.iter().any(|table: &run::Table| table.file == file)
}

impl Side {
    /// The side as `diff.json` describes it.
    #[must_use]
    pub fn described(&self) -> Described {
        let run = |found: &Found| {
            let Found { place, run } = found;
            let replayed =
                run.replay.as_ref().map(|replay| (replay.facts.allocated_bytes, replay.facts.allocated_count));
            let (bytes, objects) = replayed.unwrap_or((run.summary.shallow_bytes, run.summary.node_count));
            ComparedRun {
                path: place.clone(),
                release: run.release.clone(),
                snapshot: run.snapshot.clone(),
                host: host(run).map(str::to_owned),
                bytes,
                objects,
            }
        };
        Described { selection: self.selection.clone(), runs: self.runs.iter().map(run).collect() }
    }
}
