//! Selects the runs of each side of a comparison.

use crate::error::CompareError;
pub use crate::run_metadata::{Key, has_table, host, is_compared};
use heaplake_kit::{Context, StageError, storage};
use heaplake_lake::catalogue::Wanted;
use heaplake_lake::entry::Entry;
use heaplake_lake::nearest::{self, clause};
use heaplake_lake::selection::{self, FoundRun, Selection};
use heaplake_lake::whole;
use heaplake_schemas::comparison::{ComparedRun, Missed, Side as Described};
use heaplake_schemas::options::Texts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a comparison needs of each run.
pub(crate) const COMPARED: Wanted<'static> = Wanted { tables: &is_compared, details: false };

/// Maximum attempts to open a run that others replace meanwhile.
const TRIES: u32 = 100;
/// Maximum restarts of a comparison because runs were replaced that could not be held open.
const BEGINNINGS: u32 = 5;
/// With at most this many runs all tables are held open: object comparisons read tables that others do not.
const FEW: usize = 4;

/// Remarks and missed runs, besides the answer.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Remarks, one sentence each.
    pub remarks: Vec<String>,
    /// Runs selected, certainly or possibly, but not fully seen.
    pub missed: Vec<Missed>,
    /// Runs that lack files of compared tables; a subset of `missed`.
    pub half_deleted: Vec<PathBuf>,
}

impl Notes {
    /// Records a missed run or release.
    pub fn miss(&mut self, path: &Path, problem: impl Into<String>) {
        let problem = problem.into();
        self.remarks.push(format!("{} is left out: {problem}.", path.display()));
        self.missed.push(Missed { path: path.to_owned(), problem });
    }

    /// Records a run that another command dropped.
    pub fn dropped(&mut self, path: &Path) {
        self.remarks.push(format!("{} was dropped while its lake was read: it is not part of this.", path.display()));
    }

    /// Sorts and deduplicates. With `skip_damaged`, clears `missed`.
    #[must_use]
    pub fn finished(mut self, skip_damaged: bool) -> Self {
        self.remarks.sort();
        self.remarks.dedup();
        self.missed.sort_by(|a, b| a.path.cmp(&b.path));
        self.missed.dedup();
        if skip_damaged {
            self.missed.clear();
        }
        self
    }
}

/// A side.
#[derive(Clone, Debug)]
pub struct Side {
    /// Selection as the user wrote it.
    pub selection: String,
    /// Runs by release and name; at least one.
    pub runs: Vec<FoundRun>,
}

/// Sides of a comparison.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Sides in the order given.
    pub sides: Vec<Side>,
    /// Remarks and missed runs. The half-deleted ones are there even if the user skips them.
    pub notes: Notes,
}

impl Sides {
    /// Finds the runs. A side is a run folder, a folder of runs, or a selection from `lake`. Runs that are unreadable
    /// or have compared tables other than those listed are missed unless `skip_damaged`.
    ///
    /// # Errors
    /// [`CompareError`] also if a side is none of these or has no runs.
    pub fn find(
        named: &[String],
        lake: Option<&Path>,
        skip_damaged: bool,
        context: &Context<'_>,
    ) -> Result<Self, CompareError> {
        let mut notes = Notes::default();
        let chosen = named.iter().map(|side| choose(side, lake, &mut notes)).collect::<Result<Vec<_>, _>>()?;
        let few = chosen.iter().map(|chosen| chosen.runs.len()).sum::<usize>() <= FEW;
        let mut sides = Vec::with_capacity(chosen.len());
        for chosen in chosen {
            sides.push(settled(chosen, few, lake, (&mut notes, context))?);
        }
        let partial = |found: &FoundRun| {
            let leaves_out = found.run.partial.as_ref()?;
            Some(format!("{} covers a part of its input only: {leaves_out}.", found.place.display()))
        };
        notes.remarks.extend(sides.iter().flat_map(|side| side.runs.iter().filter_map(partial)));
        notes.remarks.extend(other_names(&sides));
        notes.remarks.extend(other_texts(&sides));
        Ok(Self { sides, notes: notes.finished(skip_damaged) })
    }

    /// Splits the runs by format; formats that fewer than `fewest` sides have are not compared, because classes of
    /// different runtimes have nothing in common.
    ///
    /// # Errors
    /// [`CompareError`] if no format remains.
    pub fn by_format(&self, fewest: usize) -> Result<Formats, CompareError> {
        let mut sides_with: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (side, found) in self.runs() {
            sides_with.entry(&*found.run.format).or_default().insert(side);
        }
        let (parts, others): (Vec<_>, Vec<_>) = sides_with.into_iter().partition(|(_, sides)| sides.len() >= fewest);
        if parts.is_empty() {
            return Err(self.no_format());
        }
        let remarks = others.iter().map(|(format, sides)| self.without(format, sides)).collect();
        let of = |formats: Vec<(&str, _)>| formats.into_iter().map(|(format, _)| self.of_format(format)).collect();
        Ok(Formats { parts: of(parts), others: of(others), remarks })
    }

    /// Restricts the sides to runs of one format.
    fn of_format(&self, wanted: &str) -> OfFormat {
        let side = |side: &Side| Side {
            selection: side.selection.clone(),
            runs: side.runs.iter().filter(|found| &*found.run.format == wanted).cloned().collect(),
        };
        let sides = Self { sides: self.sides.iter().map(side).collect(), ..self.clone() };
        OfFormat { format: wanted.to_owned(), sides }
    }

    /// Remark on a format that is not compared.
    fn without(&self, wanted: &str, sides: &BTreeSet<usize>) -> String {
        let runs = self.runs().filter(|(_, found)| &*found.run.format == wanted).count();
        let runs = if runs == 1 { "1 run is".to_owned() } else { format!("{runs} runs are") };
        let first = sides.first().and_then(|&side| self.sides.get(side)).map_or("", |side| &side.selection);
        match sides.len() {
            1 => format!("{runs} of format {wanted}, which only {first} has: they are not compared."),
            few => format!("{runs} of format {wanted}, which only {few} sides have: they are not compared."),
        }
    }

    fn no_format(&self) -> CompareError {
        let mut runs = self.runs().map(|(_, found)| found);
        let advice = "compare runs of one format: heaplake ls LAKE lists the runs";
        let Some(first) = runs.next() else { return CompareError::refused("there is nothing to compare", advice) };
        let (one, format) = (first.place.display(), &first.run.format);
        let cause = match runs.find(|other| other.run.format != *format) {
            Some(other) => {
                format!("{one} is of format {format}, {} of format {}", other.place.display(), other.run.format)
            }
            None => format!("{one} is of format {format}, which too few sides have"),
        };
        CompareError::refused(cause, advice)
    }

    /// All runs, with the index of their side.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &FoundRun)> {
        self.sides.iter().enumerate().flat_map(|(number, side)| side.runs.iter().map(move |run| (number, run)))
    }

    /// Whether all runs still have the tables of their descriptions.
    pub fn stand(&self) -> bool {
        self.runs().all(|(_, found)| found.stands())
    }
}

/// Sides by format.
#[derive(Clone, Debug)]
pub struct Formats {
    /// Compared formats by name.
    pub parts: Vec<OfFormat>,
    /// Formats that too few sides have.
    pub others: Vec<OfFormat>,
    /// Remarks on these, one sentence each.
    pub remarks: Vec<String>,
}

/// Runs of one format.
#[derive(Clone, Debug)]
pub struct OfFormat {
    /// Input format.
    pub format: String,
    /// Sides restricted to these runs. A step of a series may have none.
    pub sides: Sides,
}

impl Formats {
    /// Names of the compared formats, separated by commas.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| part.format.as_str()).collect();
        names.join(", ")
    }
}

/// Runs `work` on sides. If runs were replaced or dropped meanwhile, so that it may have mixed old and new tables,
/// finds the sides again and retries.
///
/// # Errors
/// Also if runs were replaced during each attempt.
pub fn steadily<T, E: From<CompareError>>(
    first: &Sides,
    find: impl Fn() -> Result<Sides, E>,
    mut work: impl FnMut(&Sides) -> Result<T, E>,
) -> Result<T, E> {
    let mut again: Option<Sides> = None;
    for _ in 0..BEGINNINGS {
        let sides = again.as_ref().unwrap_or(first);
        let done = work(sides);
        if sides.stand() {
            return done;
        }
        let mut found = find()?;
        note_dropped(sides, &mut found);
        again = Some(found);
    }
    let refused = CompareError::Stage(StageError::Refused {
        problem: format!("runs were replaced or dropped each of {BEGINNINGS} times that they were read"),
        advice: "run it again when fewer commands write to the lake".to_owned(),
    });
    Err(refused.into())
}

/// Adds remarks on runs that the sides had before.
fn note_dropped(before: &Sides, now: &mut Sides) {
    let places: BTreeSet<&Path> = now.runs().map(|(_, found)| found.place.as_path()).collect();
    let mut notes = Notes::default();
    before.runs().filter(|(_, found)| !places.contains(found.place.as_path())).for_each(|(_, found)| {
        notes.dropped(&found.place);
    });
    now.notes.remarks.extend(notes.finished(true).remarks);
}

/// Runs of a side as found.
struct Chosen {
    named: String,
    runs: Vec<FoundRun>,
    /// Condition that a replaced run must still fulfil.
    selection: Selection,
    /// The first of its runs that cannot be read.
    missed: Option<Missed>,
}

fn choose(named: &str, lake: Option<&Path>, notes: &mut Notes) -> Result<Chosen, CompareError> {
    let path = Path::new(named);
    let before = notes.missed.len();
    let chosen = |runs, selection, notes: &Notes| {
        let missed = notes.missed.get(before).cloned();
        Chosen { named: named.to_owned(), runs, selection, missed }
    };
    if let Some(open) = selection::open(path)? {
        return Ok(chosen(vec![open.found], Selection::default(), notes));
    }
    if storage::is_folder(path) {
        let runs = selection::runs_like(path, &Selection::default(), COMPARED)?;
        take_note(&runs, &Selection::default(), notes);
        return Ok(chosen(runs.found, Selection::default(), notes));
    }
    let selection = Selection::parse(named).map_err(|problem| {
        let near = clause(&nearest::paths(path));
        CompareError::refused(
            format!("{named}: there is no such run, and as a selection: {problem}{near}"),
            "name the folder of a run, or a selection such as 'release=7.2,label.host=web*' with --lake LAKE",
        )
    })?;
    let Some(lake) = lake else {
        return Err(CompareError::refused(
            format!("{named}: a selection needs a lake"),
            "give --lake LAKE; heaplake ls LAKE lists its runs",
        ));
    };
    nearest::check_lake(lake).map_err(|(cause, advice)| CompareError::refused(cause, advice))?;
    let mut runs = selection::runs_like(lake, &selection, COMPARED)?;
    take_note(&runs, &selection, notes);
    if runs.found.is_empty()
        && let Some(unmet) = selection::runs(lake)?.unmet(&selection)
    {
        return Err(no_run(named, &format!("no run in {} is like that: {unmet}", lake.display())));
    }
    selection.leave_newest(&mut runs.found);
    Ok(chosen(runs.found, selection, notes))
}

/// Records runs that a selection may include and that are unreadable or dropped.
fn take_note(runs: &selection::Runs, selection: &Selection, notes: &mut Notes) {
    for (path, problem) in runs.damaged.iter().filter(|(path, _)| selection.may_take(path)) {
        notes.miss(path, problem);
    }
    runs.gone.iter().filter(|path| selection.may_take(path)).for_each(|path| notes.dropped(path));
}

/// Holds the runs of a side open if possible, and checks them against their descriptions.
fn settled(
    chosen: Chosen,
    few: bool,
    lake: Option<&Path>,
    (notes, context): (&mut Notes, &Context<'_>),
) -> Result<Side, CompareError> {
    let Chosen { named, runs, selection, missed } = chosen;
    let before = notes.missed.len();
    let mut settled = Vec::with_capacity(runs.len());
    for found in runs {
        let wanted = |file: &str| few || is_compared(file);
        let found = settle(found, &|run| selection.takes(run), Some(&wanted), notes);
        settled.extend(found.map(|(found, _)| found));
    }
    let settled = without_damaged(settled, notes, context)?;
    if !settled.is_empty() {
        return Ok(Side { selection: named, runs: settled });
    }
    if let Some(Missed { path, problem }) = missed.or_else(|| notes.missed.get(before).cloned()) {
        let problem = format!("{named}: no run of it can be read: {}: {problem}", path.display());
        let advice = "heaplake lake verify says more; analyse its input again with --force".to_owned();
        return Err(StageError::Refused { problem, advice }.into());
    }
    Err(match lake.filter(|_| !selection.is_empty()) {
        Some(lake) => no_run(&named, &format!("no run in {} is like that", lake.display())),
        None => CompareError::refused(
            format!("{named}: there is no run in this folder"),
            "name the folder of a run, a folder of runs, or a selection such as release=7.2 with --lake LAKE",
        ),
    })
}

/// Keeps the runs with the compared tables that they list; records the others as missed.
fn without_damaged(
    runs: Vec<FoundRun>,
    notes: &mut Notes,
    context: &Context<'_>,
) -> Result<Vec<FoundRun>, CompareError> {
    let problems = whole::problems(&runs.iter().collect::<Vec<_>>(), &is_compared, context)?;
    let whole = runs.into_iter().zip(problems).filter_map(|(found, problem)| match problem {
        Some(problem) => {
            notes.miss(&found.place, problem);
            None
        }
        None => Some(found),
    });
    Ok(whole.collect())
}

fn no_run(named: &str, problem: &str) -> CompareError {
    let advice = "heaplake ls LAKE lists the runs; heaplake show prints the labels of one";
    CompareError::refused(format!("{named}: {problem}"), advice)
}

/// Holds the `wanted` tables of a run open, and removes those with missing files, which it also returns. `None` if the
/// run was dropped, or replaced by one that `takes` rejects.
pub fn settle(
    mut found: FoundRun,
    takes: &dyn Fn(&Entry) -> bool,
    wanted: Option<&dyn Fn(&str) -> bool>,
    notes: &mut Notes,
) -> Option<(FoundRun, Vec<String>)> {
    for _ in 0..TRIES {
        wanted.into_iter().for_each(|wanted| found.hold(wanted));
        let missing: Vec<String> = found.missing().iter().map(|table| table.file.to_string()).collect();
        if found.stands() {
            forget(&mut found, &missing, notes);
            return Some((found, missing));
        }
        let place = found.place.clone();
        match selection::find(&place) {
            Ok(Some(new)) if takes(&new.run) => found = new,
            Ok(Some(_)) => return None,
            Ok(None) => {
                notes.dropped(&place);
                return None;
            }
            Err(problem) => {
                notes.miss(&place, problem);
                return None;
            }
        }
    }
    // Replaced too often: readers check whether it is still current.
    Some((found, Vec::new()))
}

/// Removes tables with missing files from a run.
fn forget(found: &mut FoundRun, missing: &[String], notes: &mut Notes) {
    if missing.is_empty() {
        return;
    }
    let FoundRun { place, run, .. } = found;
    run.tables.retain(|table| !missing.iter().any(|file| **file == *table.file));
    notes.remarks.push(format!("{} is half deleted, without {}.", place.display(), missing.join(", ")));
    let compared: Vec<&str> = missing.iter().map(String::as_str).filter(|file| is_compared(file)).collect();
    if !compared.is_empty() {
        let problem = format!("it is half deleted, without {}", compared.join(", "));
        notes.missed.push(Missed { path: place.clone(), problem });
        notes.half_deleted.push(place.clone());
    }
}

/// Returns the remark on runs without texts of the heap: their masks of names depend on keys.
fn other_texts(sides: &[Side]) -> Option<String> {
    let runs = || sides.iter().flat_map(|side| &side.runs);
    let masked = runs().filter(|found| found.run.texts.is_some_and(|texts| texts != Texts::Full)).count();
    let text = "have no texts of the heap: names that look like data are equal only in runs of one --texts-key";
    (masked > 0).then(|| format!("{masked} of {} runs {text}.", runs().count()))
}

/// Remark on runs with signatures by different name rules.
fn other_names(sides: &[Side]) -> Option<String> {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    let first = runs.next()?;
    let other = runs.find(|other| other.run.name_rules != first.run.name_rules)?;
    let (one, two) = (first.place.display(), other.place.display());
    Some(format!("{one} and {two} have signatures by different rules: give the rules for both with --names."))
}

impl Side {
    /// Describes the side for `diff.json`.
    pub fn described(&self) -> Described {
        let run = |found: &FoundRun| {
            let FoundRun { place, run, .. } = found;
            ComparedRun {
                path: place.clone(),
                release: run.release.to_string(),
                snapshot: run.snapshot.to_string(),
                host: host(run).map(str::to_owned),
                bytes: run.bytes,
                objects: run.objects,
            }
        };
        Described { selection: self.selection.clone(), runs: self.runs.iter().map(run).collect() }
    }
}
