//! Merges runs of other lakes into a lake.
//!
//! The files of a run are hard-linked, or else copied, into the hidden folder of its place. They are checked there, and
//! the run appears atomically, like one made there. A killed merge leaves complete runs and such hidden folders, which
//! the next merge removes; merging again adds the missing runs.
//!
//! A lake in an object store gets each run by an upload, from a temporary folder. Its description there differs in the
//! folder of its tables, and so in its seal.
//!
//! Regular files of a run folder are merged. A symbolic link is refused: a foreign lake could thereby copy any file
//! that the user can read. A run that is moved must contain nothing else.

use super::check::{self, Described, Description, Problem};
use super::content::{self, Content};
use crate::commit::{self, NewRun};
use crate::json_text::json_text;
use crate::place::{self, Parts, Place, Standing};
use crate::run_files::PAGE;
use crate::{packing, packs, seal, selection, stored};
use heaplake_kit::{Context, StageError, fs, storage};
use heaplake_schemas::run::{self, Run};
use heaplake_schemas::tables;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{canonicalize, metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Result for a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Merged {
    /// Folder in the source.
    pub source: PathBuf,
    /// Folder in the lake.
    pub path: PathBuf,
    /// Status.
    pub status: Status,
    /// Why it was not merged, or not removed from the source, in one line.
    pub problem: Option<String>,
    /// Advice.
    pub advice: Option<String>,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Added to the lake.
    Merged,
    /// The lake had it already.
    Present,
    /// Not in the lake.
    Failed,
}

/// Why a run is not merged.
enum Refusal {
    /// Problem of the run, and advice.
    Run(String, String),
    /// System error or cancellation.
    Stage(StageError),
}

impl From<StageError> for Refusal {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

fn refused<T>(path: &Path, problem: &str, advice: &str) -> Result<T, Refusal> {
    Err(Refusal::Run(format!("{}: {problem}", path.display()), advice.to_owned()))
}

/// Lists the run folders of a source: a lake, a folder of runs in one, or a run.
///
/// # Errors
/// [`StageError::Refused`] if the source is the lake itself, or contains nothing that could be a run, unless
/// `takes_away`: then all may have been moved already.
pub fn places(source: &Path, lake: &Path, takes_away: bool) -> Result<Vec<PathBuf>, StageError> {
    let refused = |problem: &str, advice: &str| StageError::Refused {
        problem: format!("{}: {problem}", source.display()),
        advice: advice.to_owned(),
    };
    if source == lake || canonicalize(source).is_ok_and(|source| canonicalize(lake).is_ok_and(|lake| source == lake)) {
        return Err(refused("this is the lake itself", "name other lakes"));
    }
    if takes_away {
        place::sweep(source);
    }
    if stored::exists(&source.join(run::FILE)) {
        return Ok(vec![source.to_owned()]);
    }
    let places = selection::places(source)?;
    if let Some((path, problem)) = places.damaged.into_iter().next() {
        let problem = format!("{}: {problem}", path.display());
        return Err(StageError::Refused { problem, advice: "check who may read the folder".to_owned() });
    }
    match places.places.is_empty() && !takes_away {
        true => Err(refused("there is no run in this folder", "name a lake, or the folder of a run")),
        false => Ok(places.places),
    }
}

/// Runs that are committed together: a sync of the whole file system costs as much as that of a few files.
const AT_ONCE: usize = 256;

/// Merges runs into a lake; calls `tell` for each, in order. `scratch` is the folder for runs on their way to a store. With `takes_away`, removes them from their sources
/// afterwards.
///
/// # Errors
/// Out of memory, full disk, cancellation. Errors of single runs are told.
pub fn merge(
    sources: &[PathBuf],
    (lake, scratch): (&Path, &Path),
    takes_away: bool,
    context: &Context<'_>,
    mut tell: impl FnMut(Merged),
) -> Result<(), StageError> {
    let mut begun: Vec<Begun> = Vec::new();
    for source in sources {
        let parts = place::parts(&absolute(source));
        let path =
            parts.as_ref().map_or_else(|| lake.to_owned(), |parts| place::path(lake, &parts.release, &parts.snapshot));
        // A place has one writer at a time.
        if begun.len() >= AT_ONCE || begun.iter().any(|other| other.path == path) {
            end(std::mem::take(&mut begun), lake, takes_away, &mut tell)?;
        }
        context.check()?;
        let step = match &parts {
            Some(parts) => begin(source, parts, (lake, scratch), takes_away, context),
            None => refused(source, "this run is in no folder release=…", "name a lake, or LAKE/release=…/snapshot=…"),
        };
        begun.push(Begun { source: source.clone(), path, step: resource(step)? });
    }
    end(begun, lake, takes_away, &mut tell)
}

/// A run on its way.
struct Begun {
    source: PathBuf,
    path: PathBuf,
    step: Result<Step, Refusal>,
}

/// State of a run before its commit.
struct Step {
    /// The run, complete beside its place; `None` if the lake has it.
    new: Option<NewRun>,
    /// Whether the lake had it already.
    was_there: bool,
    /// The place in the source, held until the run is removed there.
    held: Option<Place>,
    /// Files of the source.
    content: Content,
}

/// Passes on errors that would hit all other runs, too.
fn resource<T>(done: Result<T, Refusal>) -> Result<Result<T, Refusal>, StageError> {
    match done {
        Err(Refusal::Stage(error)) if error.is_resource() || matches!(error, StageError::Cancelled) => Err(error),
        done => Ok(done),
    }
}

/// Commits runs together, then removes them from their sources.
fn end(begun: Vec<Begun>, lake: &Path, takes_away: bool, tell: &mut impl FnMut(Merged)) -> Result<(), StageError> {
    let is_new = |run: &Begun| matches!(&run.step, Ok(Step { new: Some(_), .. }));
    if begun.iter().any(is_new) {
        fs::sync_file_system(lake).map_err(|error| StageError::io(lake, "write", error))?;
    }
    let mut around = BTreeSet::new();
    let mut ended = Vec::with_capacity(begun.len());
    for Begun { source, path, step } in begun {
        let done = resource(step.and_then(|step| appear(step, &mut around)))?;
        ended.push((source, path, done));
    }
    around.iter().try_for_each(|folder| commit::settle(folder, "what was merged is", folder))?;
    for (source, path, done) in ended {
        let done = done.and_then(|(status, step)| {
            if takes_away {
                take_away(&source, step)?;
            }
            Ok(status)
        });
        let failed = |problem: String, advice| (Status::Failed, Some(problem.replace(['\n', '\r'], " ")), Some(advice));
        let (status, problem, advice) = match resource(done)? {
            Ok(status) => (status, None, None),
            Err(Refusal::Stage(error)) => failed(error.to_string(), error.advice()),
            Err(Refusal::Run(problem, advice)) => failed(problem, advice),
        };
        tell(Merged { source, path, status, problem, advice });
    }
    Ok(())
}

/// Moves a run to its place; collects the folders to sync.
fn appear(mut step: Step, around: &mut BTreeSet<PathBuf>) -> Result<(Status, Step), Refusal> {
    let Some(new) = step.new.take() else {
        let status = if step.was_there { Status::Present } else { Status::Merged };
        return Ok((status, step));
    };
    around.extend(new.appear()?.around());
    Ok((Status::Merged, step))
}

/// Removes a run of the lake from its source.
fn take_away(source: &Path, Step { held, content, .. }: Step) -> Result<(), Refusal> {
    let Some(held) = held else { return Ok(()) };
    // The run is unchanged, since its place is held. But anybody may add files to a folder.
    if content_of(source, true)? != content {
        return refused(source, "another program changed this run", "merge again");
    }
    Ok(held.discard()?)
}

/// Makes a path absolute if it lacks folder names, as `.` and `..` do.
fn absolute(source: &Path) -> PathBuf {
    let named = source.file_name().is_some() && source.parent().is_some_and(|parent| parent.file_name().is_some());
    if named { source.to_owned() } else { canonicalize(source).unwrap_or_else(|_| source.to_owned()) }
}

/// Brings a run beside its place, or checks the one that the lake has already.
fn begin(
    source: &Path,
    parts: &Parts,
    (lake, scratch): (&Path, &Path),
    takes_away: bool,
    context: &Context<'_>,
) -> Result<Step, Refusal> {
    let Parts { release, snapshot, .. } = parts;
    // Held until the run is in the lake, so that nobody replaces the run to remove.
    let held = takes_away.then(|| Place::take(&parts.lake, release, snapshot)).transpose()?;
    let Some(description) = Description::read(source) else {
        return refused(source, "another command dropped this run", "merge again");
    };
    let run = intact(source, &description)?;
    if is_same_folder(source, &place::path(lake, release, snapshot)) {
        return Ok(Step { new: None, was_there: true, held: None, content: Content::default() });
    }
    let content = content_of(source, takes_away)?;
    held.iter().try_for_each(Place::refuse_others)?;
    let place = Place::take(lake, release, snapshot)?.made_in(&scratch.join(MADE));
    let there = match place.is_remote() && place.standing().is_none() {
        true => None,
        false => Description::read(place.path()),
    };
    let was_there = there.is_some();
    let new = match there {
        Some(there) => {
            present(&there, &description, place.path(), takes_away, context)?;
            if takes_away {
                has_all(source, &content, (&description, &there), place.path(), context)?;
            }
            None
        }
        None => new(source, &description, &content, run, place, context)?,
    };
    Ok(Step { new, was_there, held, content })
}

/// Folder in the scratch folder for a run on its way to a store.
const MADE: &str = "run";

/// Lists the run's files besides its description. With `takes_away`, refuses anything else in the folder.
fn content_of(source: &Path, takes_away: bool) -> Result<Content, Refusal> {
    let content = Content::of(source)?;
    if let Some(link) = &content.link {
        let advice = "put the file itself in its place; a link may lead to files that are not of the lake";
        return refused(&source.join(link), "this is a symbolic link, which merge does not follow", advice);
    }
    if let Some(other) = content.others.first().filter(|_| takes_away) {
        let advice = "move it out of the run, or merge without --move";
        return refused(&source.join(other), "merge brings in no such file or folder, and would remove it", advice);
    }
    Ok(content)
}

/// Refuses if the lake's copy of a run, which is intact, lacks a file of the source. The rows of a table may be in a
/// pack.
fn has_all(
    source: &Path,
    content: &Content,
    (here, there): (&Description, &Description),
    path: &Path,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    for name in &content.files {
        context.check()?;
        let is_packed = here.intact().zip(there.intact()).is_some_and(|runs| content::is_packed(runs, path, name));
        if !is_packed && !content::is_same(&source.join(name), &path.join(name))? {
            let advice = "move it out of the run, or merge without --move";
            return refused(&source.join(name), "the lake has this run without this file", advice);
        }
    }
    Ok(())
}

/// Returns the parsed description if it is intact.
fn intact<'d>(source: &Path, description: &'d Description) -> Result<&'d Run, Refusal> {
    if let Some(problem) = &description.problem {
        return Err(of_problem(problem));
    }
    match description.intact() {
        Some(run) => Ok(run),
        None => refused(source, "there is no run", "name a lake"),
    }
}

fn of_problem(Problem { path, expected, found, advice }: &Problem) -> Refusal {
    Refusal::Run(format!("{}: expected {expected}, found {found}", path.display()), advice.clone())
}

/// Whether two paths lead to the same folder.
fn is_same_folder(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| metadata(path).map(|there| (there.dev(), there.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Checks a run that the lake has already: it must be equal. With `takes_away`, it must be intact, too.
fn present(
    there: &Description,
    description: &Description,
    path: &Path,
    takes_away: bool,
    context: &Context<'_>,
) -> Result<(), Refusal> {
    if let Some(problem) = &there.problem {
        return Err(of_problem(problem));
    }
    if there.text != description.text && !is_uploaded(there, description) {
        return refused(
            path,
            "the lake has another run of this name",
            "drop one of the two, or analyse the input again under another --snapshot name",
        );
    }
    if let Some(run) = there.intact().filter(|_| takes_away) {
        let described = Described::new(path.to_owned(), there.standing.clone(), run);
        whole(described, context)?;
    }
    Ok(())
}

/// Whether descriptions differ only in what depends on the kind of lake, and on where the tables are.
fn is_uploaded(there: &Description, here: &Description) -> bool {
    let is_packed = |of: &Description| of.intact().is_some_and(|run| run.packed.is_some());
    let any_packed = is_packed(there) || is_packed(here);
    let run = |of: &Description| {
        let mut run = of.intact()?.clone();
        if any_packed {
            // Packing and unpacking change files, not rows.
            run.tables.iter_mut().for_each(|table| (table.bytes, table.xxh3_64) = (0, None));
        }
        Some(Run { seal: None, folder: None, packed: None, ..run })
    };
    let runs = run(there).zip(run(here));
    runs.is_some_and(|(one, other)| one == other)
}

/// Refuses a run with a damaged table.
fn whole(described: Described, context: &Context<'_>) -> Result<(), Refusal> {
    context.progress.begin("merge", described.bytes());
    let problems = check::tables(&[described], context)?;
    context.progress.end();
    problems.iter().flatten().next().map_or(Ok(()), |problem| Err(of_problem(problem)))
}

/// Brings a run that the lake lacks beside its place; `None` if it is there, because a store has no such place.
fn new(
    source: &Path,
    description: &Description,
    content: &Content,
    run: &Run,
    place: Place,
    context: &Context<'_>,
) -> Result<Option<NewRun>, Refusal> {
    let (path, is_remote) = (place.path().to_owned(), place.is_remote());
    let new = NewRun::create(place)?;
    for name in &content.files {
        context.check()?;
        content::bring(&source.join(name), &new.folder().join(name))?;
    }
    let unpacked = unpack(source, run, new.folder())?;
    if Standing::at(source)? != description.standing {
        return refused(source, "another command replaced or dropped this run", "merge again");
    }
    let run = unpacked.as_ref().map_or(run, |(run, _)| run);
    whole(Described::new(new.folder().to_owned(), None, run), context).map_err(|refusal| match refusal {
        // Name the source, which is damaged, not the hidden folder, which vanishes.
        Refusal::Run(problem, advice) => {
            Refusal::Run(problem.replace(&*new.folder().to_string_lossy(), &source.to_string_lossy()), advice)
        }
        refusal => refusal,
    })?;
    if is_remote {
        upload(new, &path, run)?;
        return Ok(None);
    }
    new.describe(unpacked.as_ref().map_or(&*description.text, |(_, text)| text.as_bytes()))?;
    Ok(Some(new))
}

/// Writes the tables of a packed run as files into a folder; returns its description with them. `None` if it is not
/// packed.
fn unpack(source: &Path, run: &Run, folder: &Path) -> Result<Option<(Run, String)>, Refusal> {
    let Some(packed) = &run.packed else { return Ok(None) };
    let mut unpacked = Run { seal: None, packed: None, ..run.clone() };
    for listed in &mut unpacked.tables {
        let path = folder.join(&listed.file);
        let table = tables::ALL.iter().find(|table| table.file == listed.file);
        let Some(table) = table.filter(|_| !path.exists()) else { continue };
        let slice = packs::of(source, table.file, packed, run.schema_version);
        let slice = slice.map_err(|error| StageError::io(&source.join(table.file), "read", error))?;
        // A missing table is named by the check of the whole run.
        let Some(slice) = slice else { continue };
        let written = packing::unpack(&slice, table, folder)?;
        let content = stored::checksum(&path, &mut Vec::new(), |_| Ok(()))?;
        *listed = run::Table { xxh3_64: Some(content.xxh3_64), ..written };
    }
    let text = json_text(&unpacked).map_err(|error| {
        let problem = format!("{}: {error}", source.display());
        Refusal::Run(problem, "analyse the input again".to_owned())
    })?;
    let (text, seal) = seal::sealed(&text);
    Ok(Some((Run { seal: Some(seal), ..unpacked }, text)))
}

/// Uploads a run to its place, with its page last.
fn upload(new: NewRun, place: &Path, run: &Run) -> Result<(), StageError> {
    let (page, aside) = (new.folder().join(PAGE), new.folder().with_extension("html"));
    let has_page = match fs::rename(&page, &aside) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(StageError::io(&page, "rename", error)),
    };
    new.commit(run.clone())?;
    if has_page {
        let to = place.join(PAGE);
        let upload = [(aside, to.to_string_lossy().into_owned())];
        let sent = storage::store().and_then(|store| store.upload(&upload));
        sent.map_err(|error| StageError::io(&to, "write", error))?;
        stored::changed(place);
    }
    Ok(())
}
