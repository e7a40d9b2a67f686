//! One input through all stages, into the lake.

use crate::inputs;
use crate::journal::{Done, Journal};
use crate::memory::{self, peak_rss};
use crate::plan::{self, Lane};
use crate::progress::{Display, Mode};
use crate::workplace::{SCRATCH, Workplace};
use heaplake_ingest::output::Wanted;
use heaplake_ingest::source::{self, Input, Source};
use heaplake_ingest::v8::read;
use heaplake_ingest::{Format, dotnet, jvm};
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_publish::commit::{self, NewRun};
use heaplake_publish::snapshot::StageTime;
use heaplake_publish::{
    chains as chain_table, classes as class_table, duplicate_members, duplicate_sets, edges, findings as finding_table,
    nodes, owners as owner_table, snapshot, threads, totals,
};
use heaplake_schemas::run::{LargeObject, Options, Referents, Run, Summary, TableName};
use heaplake_schemas::scratch::{self as columns, Facts, documents};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::fs::{self, File};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// What to do with an input.
#[derive(Clone, Debug)]
pub struct Request {
    /// The input.
    pub input: Input,
    /// The lake.
    pub lake: PathBuf,
    /// Release of the snapshot.
    pub release: String,
    /// Its name, where the user gives one.
    pub snapshot: Option<String>,
    /// What shapes the tables.
    pub options: Options,
    /// Bytes that may be allocated.
    pub memory: u64,
    /// Threads that may be used.
    pub threads: usize,
    /// Where intermediate columns go, if not into the lake.
    pub scratch: Option<PathBuf>,
    /// Whether a run that stands already is replaced.
    pub force: bool,
}

/// A run that is in the lake.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its folder.
    pub place: PathBuf,
    /// What it is.
    pub run: Run,
    /// Whether it was there before, so that nothing was done.
    pub unchanged: bool,
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A stage failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A run stands in the place that this one would take, and is not the same.
    #[error("{}: a run stands here that differs in {difference}", place.display())]
    Taken {
        /// The place.
        place: PathBuf,
        /// What it differs in.
        difference: String,
    },
    /// A run cannot be made again.
    #[error("{}: {problem}", target.display())]
    Again {
        /// The run, or what was named as one.
        target: PathBuf,
        /// Why.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// Another process analyses the same input into the same lake.
    #[error("{}: another heaplake is at work on this input", lock.display())]
    Busy {
        /// The file that it holds locked.
        lock: PathBuf,
    },
}

impl Failure {
    /// One line of what to do.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Stage(error) => error.advice(),
            Self::Taken { .. } => "give --force to replace it, or another --snapshot name".to_owned(),
            Self::Again { advice, .. } => advice.clone(),
            Self::Busy { .. } => "wait until it is done".to_owned(),
        }
    }

    /// Whether more memory or disk would have helped.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        matches!(self, Self::Stage(error) if error.is_resource())
    }

    /// Whether the user stopped it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Stage(StageError::Cancelled))
    }
}

/// Analyses one input and commits its run.
///
/// # Errors
/// [`Failure`]; then the lake is as it was.
pub fn analyze(request: &Request, mode: Mode, cancel: &AtomicBool) -> Result<Outcome, Failure> {
    let started = Instant::now();
    memory::reset_peak();
    if !request.force
        && let Some(outcome) = standing(request)?
    {
        return Ok(outcome);
    }
    let mut workplace = Workplace::take(request)?;
    let display = Display::new(mode, &inputs::stem(&request.input));
    display.resuming(workplace.journal.done().len());
    let context = Context {
        budget: Budget::new(request.memory.saturating_sub(FIXED_OVERHEAD)),
        threads: request.threads,
        progress: &display,
        cancel,
    };
    let scratch = &workplace.scratch;
    let journal = Mutex::new(&mut workplace.journal);
    let result = Work { request, scratch, context: &context, display: &display, journal, started }.run();
    // What was done so far serves the next attempt, unless the input itself is at fault or there is no room for it.
    workplace.keep = matches!(&result, Err(failure) if failure.is_cancelled()) && !workplace.journal.done().is_empty();
    result
}

/// The run that this input has in the lake already, if it was made with the same options.
pub(crate) fn standing(request: &Request) -> Result<Option<Outcome>, Failure> {
    let Input::File(path) = &request.input else { return Ok(None) };
    let Ok(bytes) = fs::metadata(path).map(|file| file.len()) else { return Ok(None) };
    let candidates = match &request.snapshot {
        Some(name) => vec![commit::place(&request.lake, &request.release, name)],
        None => named_alike(request),
    };
    // Only a run on a file of the same size makes it worth while to read the input for its hash.
    let mut hash = None;
    for place in candidates {
        let Some(run) = commit::read(&place)? else { continue };
        // A trace can be replayed, and each of its walks of the heap be analysed: these are runs beside each other.
        let differs =
            run.replay.is_some() != request.options.replay.is_some() || run.options.walk != request.options.walk;
        if differs && request.snapshot.is_none() {
            continue;
        }
        if run.input_bytes != bytes {
            if request.snapshot.is_some() {
                return Err(Failure::Taken { place, difference: "its input".to_owned() });
            }
            continue;
        }
        let hash = match &hash {
            Some(hash) => hash,
            None => hash.insert(source::identify(&request.input)?.hash),
        };
        if run.input_hash == *hash {
            return same_or_taken(request, place, run).map(Some);
        }
    }
    Ok(None)
}

/// Runs of the release whose default name begins as this input's would.
fn named_alike(request: &Request) -> Vec<PathBuf> {
    let prefix = format!("snapshot={}-", inputs::stem(&request.input));
    let folder = request.lake.join(format!("release={}", request.release));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect();
    places.sort();
    places
}

pub(crate) fn same_or_taken(request: &Request, place: PathBuf, run: Run) -> Result<Outcome, Failure> {
    let difference = if run.schema_version != SCHEMA_VERSION {
        format!("its schema version ({})", run.schema_version)
    } else if run.options.tables != request.options.tables {
        format!("--tables ({})", run.options.tables)
    } else if run.options.referents != request.options.referents {
        format!("--referents ({})", run.options.referents.name())
    } else if let Some(difference) = duplicates_differ(&run.options, &request.options) {
        difference
    } else if run.options.salvage != request.options.salvage && run.summary.partial.is_some() {
        format!("--salvage ({})", if run.options.salvage { "with" } else { "without" })
    } else if run.options.walk != request.options.walk {
        format!("--walk ({})", run.options.walk.map_or("last".to_owned(), |walk| walk.to_string()))
    } else if run.options.big != request.options.big {
        format!("big classes ({})", run.options.big)
    } else if run.options.owners != request.options.owners {
        "--owners".to_owned()
    } else if run.options.replay != request.options.replay {
        "the options of replay".to_owned()
    } else if run.options.labels != request.options.labels {
        "its labels".to_owned()
    } else {
        return Ok(Outcome { place, run, unchanged: true });
    };
    Err(Failure::Taken { place, difference })
}

/// In which option about duplicates two runs differ.
fn duplicates_differ(old: &Options, new: &Options) -> Option<String> {
    if old.duplicates != new.duplicates {
        Some(format!("--duplicates ({})", old.duplicates.name()))
    } else if old.duplicates_of != new.duplicates_of {
        Some(format!("--duplicates-of ({})", old.duplicates_of.join(", ")))
    } else if old.duplicate_work != new.duplicate_work {
        Some(format!("--duplicate-work ({})", old.duplicate_work.map_or("default".to_owned(), |work| work.to_string())))
    } else {
        None
    }
}

/// A run in the making.
struct Work<'a> {
    request: &'a Request,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    display: &'a Display,
    journal: Mutex<&'a mut Journal>,
    started: Instant,
}

impl<'a> Work<'a> {
    fn run(self) -> Result<Outcome, Failure> {
        let Self { request, scratch, .. } = &self;
        let format = self.read()?;
        let facts: Facts = scratch.read_document(documents::FACTS)?;
        // A run that goes on with a smaller budget than it began with.
        self.admit(format, facts.node_count)?;
        let name = match &request.snapshot {
            Some(name) => name.clone(),
            None => default_name(request, &facts),
        };
        let place = commit::place(&request.lake, &request.release, &name);
        // Standard input has no size to look for beforehand, and a name may belong to another snapshot.
        if let Some(run) = commit::read(&place)?.filter(|_| !request.force) {
            if run.input_hash == facts.input_hash {
                return same_or_taken(request, place, run);
            }
            return Err(Failure::Taken { place, difference: "its input".to_owned() });
        }
        scratch.write_document(documents::OPTIONS, &request.options)?;
        plan::phases(format).iter().try_for_each(|lanes| self.phase(lanes))?;
        self.publish(&name, place)
    }

    fn admit(&self, format: Format, nodes: u64) -> Result<(), StageError> {
        plan::admit(format, self.request.memory, nodes, &self.request.options)
    }

    /// Reads the input, unless an earlier run did; its format.
    fn read(&self) -> Result<Format, StageError> {
        let done = |format: &Format| self.journal().has(plan::reader(*format));
        if let Some(format) = Format::ALL.into_iter().find(done) {
            return Ok(format);
        }
        let Self { request, scratch, context, .. } = self;
        let mut source = Source::open_with(&request.input, request.threads, &context.budget)?;
        let format = Format::of(source.peek(context)?);
        self.admit(format, 0)?;
        let (input, admission) = (&request.input, |nodes| self.admit(format, nodes));
        self.stage(plan::reader(format), true, || match format {
            Format::V8 => read::run(input, source, scratch, context, &admission),
            Format::Jvm => jvm::scan::run(input, source, choices(&request.options), scratch, context, &admission),
            Format::Dotnet => {
                let choices = dotnet::Choices { walk: request.options.walk, tables: tables(&request.options) };
                dotnet::walk::run(source, choices, scratch, context, &admission)
            }
        })?;
        Ok(format)
    }

    /// Runs a stage, unless an earlier run did.
    fn stage(
        &self,
        stage: &'static StageInfo,
        appends: bool,
        run: impl FnOnce() -> Result<Stats, StageError>,
    ) -> Result<(), StageError> {
        if self.journal().has(stage) {
            return Ok(());
        }
        let (stats, seconds) = clocked(run)?;
        self.journal().add(self.scratch, stage, appends, stats, seconds)?;
        self.display.finished(stage.name, stats, seconds);
        Ok(())
    }

    fn journal(&self) -> MutexGuard<'_, &'a mut Journal> {
        // A lane that panicked takes the whole run with it; the journal itself is always whole.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane(&self, lane: Lane, context: &Context<'_>) -> Result<(), StageError> {
        lane.iter().filter(|step| step.need.is_met(&self.request.options)).try_for_each(|step| {
            self.stage(step.info, step.appends, || (step.run)(self.scratch, context))?;
            let released = step.releases.iter().map(|release| release.column);
            released
                .filter(|column| plan::is_released(column, step, &self.request.options))
                .for_each(|column| self.scratch.discard_file(column));
            Ok(())
        })
    }

    /// Bytes of budget with which no stage of a lane pages.
    fn resident_bytes(&self, lane: Lane, facts: &Facts) -> u64 {
        plan::resident_bytes(lane, facts.node_count, facts.edge_count, &self.request.options)
    }

    /// Runs the lanes of a phase. The first shows its progress.
    fn phase(&self, lanes: &[Lane]) -> Result<(), StageError> {
        let Some((first, others)) = lanes.split_first() else { return Ok(()) };
        // A format may know the number of its edges only after some stages.
        let facts: &Facts = &self.scratch.read_document(documents::FACTS)?;
        let first_bytes = self.resident_bytes(first, facts);
        self.side_by_side(first_bytes, || self.lane(first, self.context), others, facts)
    }

    /// Runs `first`, which likes to have so many bytes resident, and other lanes: side by side where that costs no paging,
    /// one after the other where it would, `first` at last.
    fn side_by_side<T>(
        &self,
        first_bytes: u64,
        first: impl FnOnce() -> Result<T, StageError>,
        others: &[Lane],
        facts: &Facts,
    ) -> Result<T, StageError> {
        let Context { budget, threads, .. } = self.context;
        let widths = others.iter().map(|lane| self.resident_bytes(lane, facts));
        if *threads < 2 || widths.fold(first_bytes, u64::saturating_add) > budget.free() / 32 * 31 {
            others.iter().rev().try_for_each(|lane| self.lane(lane, self.context))?;
            return first();
        }
        thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|lane| {
                    let context =
                        Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: self.context.cancel };
                    scope.spawn(move || self.lane(lane, &context))
                })
                .collect();
            let result = first();
            let others = others.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)));
            let others = others.fold(Ok(()), Result::and);
            result.and_then(|result| others.map(|()| result))
        })
    }

    fn publish(self, name: &str, place: PathBuf) -> Result<Outcome, Failure> {
        let Self { request, scratch, context, .. } = &self;
        let facts: &Facts = &scratch.read_document(documents::FACTS)?;
        let new = NewRun::create(&place)?;
        let mut tables_done = Vec::new();
        let mut finished = |stage: &'static StageInfo, stats: Stats, seconds: f64| {
            self.display.finished(stage.name, stats, seconds);
            tables_done.push(StageTime { name: stage.name.to_owned(), seconds, stats });
        };
        let wanted = |table| request.options.tables.has(table);
        let mut tables = Vec::new();
        let totals = if wanted(TableName::Nodes) {
            let bytes = nodes::STAGE.resident_bytes(facts.node_count, facts.edge_count);
            let write = || clocked(|| nodes::run(facts, scratch, new.folder(), context));
            let ((table, totals, stats), seconds) = self.side_by_side(bytes, write, &[plan::BESIDE_NODES], facts)?;
            finished(&nodes::STAGE, stats, seconds);
            tables.push(table);
            totals
        } else {
            let add_up = || clocked(|| totals::run(facts, scratch, context));
            let ((totals, stats), seconds) = self.side_by_side(0, add_up, &[plan::BESIDE_NODES], facts)?;
            finished(&totals::STAGE, stats, seconds);
            totals
        };
        if wanted(TableName::Edges) {
            let ((table, stats), seconds) = clocked(|| edges::run(facts, scratch, new.folder(), context))?;
            finished(&edges::STAGE, stats, seconds);
            tables.push(table);
        }
        let (class_count, classes) = class_table::largest(scratch)?;
        if wanted(TableName::Classes) {
            let ((table, stats), seconds) = clocked(|| class_table::run(facts, scratch, new.folder(), context))?;
            finished(&class_table::STAGE, stats, seconds);
            tables.push(table);
        }
        if wanted(TableName::Chains) {
            let ((table, stats), seconds) = clocked(|| chain_table::run(facts, scratch, new.folder(), context))?;
            finished(&chain_table::STAGE, stats, seconds);
            tables.push(table);
        }
        if wanted(TableName::Threads) && scratch.has(columns::THREAD_NODE) {
            let ((table, stats), seconds) = clocked(|| threads::run(facts, scratch, new.folder(), context))?;
            finished(&threads::STAGE, stats, seconds);
            tables.push(table);
        }
        let mut findings = Vec::new();
        if wanted(TableName::Findings) {
            findings = scratch.read_document(documents::FINDINGS)?;
            let ((table, stats), seconds) =
                clocked(|| finding_table::run(&facts.input_hash, scratch, new.folder(), context))?;
            finished(&finding_table::STAGE, stats, seconds);
            tables.push(table);
        }
        let mut owners = Vec::new();
        if wanted(TableName::Owners) {
            owners = owner_table::largest(scratch)?;
            let ((table, stats), seconds) = clocked(|| owner_table::run(facts, scratch, new.folder(), context))?;
            finished(&owner_table::STAGE, stats, seconds);
            tables.push(table);
        }
        let mut duplicates = None;
        if scratch.has(columns::SET_ROW) {
            duplicates = Some(duplicate_sets::summary(scratch)?);
        }
        if wanted(TableName::DuplicateSets) && scratch.has(columns::SET_ROW) {
            let ((table, stats), seconds) = clocked(|| duplicate_sets::run(facts, scratch, new.folder(), context))?;
            finished(&duplicate_sets::STAGE, stats, seconds);
            tables.push(table);
        }
        if wanted(TableName::DuplicateMembers) && scratch.has(columns::SET_ROW) {
            let ((table, stats), seconds) = clocked(|| duplicate_members::run(facts, scratch, new.folder(), context))?;
            finished(&duplicate_members::STAGE, stats, seconds);
            tables.push(table);
        }
        let mut stages: Vec<StageTime> = self.journal().done().iter().map(earlier).collect();
        stages.append(&mut tables_done);
        let objects: Vec<LargeObject> = scratch.read_document(documents::LARGEST)?;
        let mut run = Run {
            heaplake_version: HEAPLAKE_VERSION.to_owned(),
            schema_version: SCHEMA_VERSION,
            snapshot: name.to_owned(),
            release: request.release.clone(),
            source: request.input.name(),
            input_bytes: facts.input_bytes,
            input_hash: facts.input_hash.clone(),
            options: request.options.clone(),
            tables,
            summary: Summary {
                format: facts.format.clone(),
                node_count: facts.node_count,
                edge_count: facts.edge_count,
                string_count: facts.string_count,
                class_count,
                shallow_bytes: totals.shallow_bytes,
                native_bytes: facts.has_native.then_some(totals.native_bytes),
                unreachable_count: facts.node_count - totals.reachable_count,
                unreachable_bytes: totals.shallow_bytes - totals.reachable_bytes,
                detached_count: totals.detached_count,
                partial: facts.partial.clone(),
                remarks: facts.remarks.clone(),
                duplicates,
                findings,
                owners,
                classes,
                objects,
                wall_seconds: self.started.elapsed().as_secs_f64(),
                peak_rss_bytes: peak_rss(),
                scratch_bytes: self.journal().fullest(),
            },
            replay: None,
        };
        if wanted(TableName::Snapshot) {
            run.tables.push(snapshot::run(facts, &run, &totals, &stages, new.folder())?);
        }
        new.commit(&run)?;
        Ok(Outcome { place, run, unchanged: false })
    }
}

/// What a stage gives, and the seconds that it took.
pub(crate) fn clocked<T>(run: impl FnOnce() -> Result<T, StageError>) -> Result<(T, f64), StageError> {
    let begun = Instant::now();
    Ok((run()?, begun.elapsed().as_secs_f64()))
}

/// The name of a run that the user gave none: the file's name and a hash of its content. A trace has other runs, too.
fn default_name(request: &Request, facts: &Facts) -> String {
    let name = format!("{}-{}", inputs::stem(&request.input), &facts.input_hash[..8]);
    match request.options.walk {
        Some(walk) => format!("{name}-walk{walk}"),
        None if facts.format == dotnet::TRACE => format!("{name}-walk"),
        None => name,
    }
}

/// What the reader of dumps of Java heaps needs to know.
fn choices(options: &Options) -> jvm::Choices {
    let Wanted { nodes, edges, ways } = tables(options);
    let (salvage, referents_hold) = (options.salvage, options.referents == Referents::Hold);
    jvm::Choices { nodes, edges, ways, salvage, referents_hold }
}

/// Which tables a reader of a format must serve.
fn tables(options: &Options) -> Wanted {
    let wanted = |table| options.tables.has(table);
    // Rules of findings look at numbers of edges and at names.
    let nodes = wanted(TableName::Nodes) || wanted(TableName::Findings);
    Wanted { nodes, edges: wanted(TableName::Edges), ways: plan::Need::Chains.is_met(options) }
}

/// What the journal says of a stage, for the table.
fn earlier(done: &Done) -> StageTime {
    let stats = Stats { rows: done.rows, spilled_bytes: done.spilled_bytes };
    StageTime { name: done.stage.clone(), seconds: done.seconds, stats }
}

/// Checks that the lake can be written to, making it where there is none.
///
/// # Errors
/// [`StageError::Io`].
pub fn prepare(lake: &Path) -> Result<(), StageError> {
    fs::create_dir_all(lake).map_err(|error| StageError::io(lake, "create", error))?;
    let probe = lake.join(format!("{SCRATCH}-probe-{}", std::process::id()));
    File::create(&probe).map_err(|error| StageError::io(lake, "write into", error))?;
    fs::remove_file(&probe).map_err(|error| StageError::io(&probe, "remove", error))
}
