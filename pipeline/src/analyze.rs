//! One input through all stages, into the lake.

use crate::inputs;
use crate::memory::{self, peak_rss};
use crate::plan;
use crate::progress::{Display, Mode};
use heaplake_graph::{distances, dominators, preorder, retained, retainers};
use heaplake_ingest::source::{self, Input};
use heaplake_ingest::v8;
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{Budget, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_publish::commit::{self, NewRun};
use heaplake_publish::snapshot::StageTime;
use heaplake_publish::{classes as class_table, edges, nodes, snapshot};
use heaplake_schemas::run::{LargeObject, Options, Run, Summary};
use heaplake_schemas::scratch::{Facts, documents};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use heaplake_summarise::{classes as class_rows, largest};
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
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
    let workplace = Workplace::take(request)?;
    let display = Display::new(mode, &inputs::stem(&request.input));
    let context = Context {
        budget: Budget::new(request.memory.saturating_sub(FIXED_OVERHEAD)),
        threads: request.threads,
        progress: &display,
        cancel,
    };
    let scratch = &workplace.scratch;
    let clock = Clock { display: &display, scratch, last: Instant::now(), stages: Vec::new(), scratch_bytes: 0 };
    Work { request, scratch, context: &context, clock, started }.run()
}

/// The run that this input has in the lake already, if it was made with the same options.
fn standing(request: &Request) -> Result<Option<Outcome>, Failure> {
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

fn same_or_taken(request: &Request, place: PathBuf, run: Run) -> Result<Outcome, Failure> {
    let difference = if run.schema_version != SCHEMA_VERSION {
        format!("its schema version ({})", run.schema_version)
    } else if run.options.edges != request.options.edges {
        format!("--edges ({})", if run.options.edges { "with" } else { "without" })
    } else if run.options.labels != request.options.labels {
        "its labels".to_owned()
    } else {
        return Ok(Outcome { place, run, unchanged: true });
    };
    Err(Failure::Taken { place, difference })
}

/// The scratch folder of one input, locked as long as it is in use, and removed in the end.
struct Workplace {
    scratch: Scratch,
    lock: PathBuf,
    /// Whether the folder around it was made by heaplake, which then removes it when it is empty.
    own_root: bool,
    _locked: File,
}

/// Folder inside a lake that holds scratch; its name keeps it out of every `release=*` pattern.
const SCRATCH: &str = ".heaplake-scratch";

impl Workplace {
    fn take(request: &Request) -> Result<Self, Failure> {
        let root = request.scratch.clone().unwrap_or_else(|| request.lake.join(SCRATCH));
        let own_root = request.scratch.is_none() || !root.exists();
        fs::create_dir_all(&root).map_err(|error| StageError::io(&root, "create", error))?;
        let name = format!("{}-{:016x}", inputs::stem(&request.input), identity(request));
        let lock = root.join(format!("{name}.lock"));
        let locked = lock_file(&lock)?;
        Ok(Self { scratch: Scratch::create(&root.join(name))?, lock, own_root, _locked: locked })
    }
}

/// Makes and locks a file.
fn lock_file(path: &Path) -> Result<File, Failure> {
    loop {
        let file = File::create(path).map_err(|error| StageError::io(path, "create", error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Failure::Busy { lock: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(StageError::io(path, "lock", error).into()),
        }
        // Its last holder may have removed the file between the two steps; then somebody else may lock a new one.
        let same = |other: fs::Metadata| {
            file.metadata().is_ok_and(|mine| (mine.dev(), mine.ino()) == (other.dev(), other.ino()))
        };
        if fs::metadata(path).is_ok_and(same) {
            return Ok(file);
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What cannot be removed is only space; the outcome of the run does not depend on it.
        let _ = fs::remove_dir_all(self.scratch.folder());
        let _ = fs::remove_file(&self.lock);
        if self.own_root {
            // Goes only if nobody else works there.
            let _ = self.lock.parent().map(fs::remove_dir);
        }
    }
}

/// Tells apart the inputs that may share a scratch root.
fn identity(request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    let path = match &request.input {
        Input::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Input::Stdin => PathBuf::from("-"),
    };
    (path, &request.release, &request.snapshot).hash(&mut hasher);
    hasher.finish()
}

/// Times the stages.
struct Clock<'a> {
    display: &'a Display,
    scratch: &'a Scratch,
    last: Instant,
    stages: Vec<StageTime>,
    /// Most bytes of scratch that were in use after a stage, or in it.
    scratch_bytes: u64,
}

impl Clock<'_> {
    fn finished(&mut self, stage: &'static StageInfo, stats: Stats) {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.display.finished(stage.name, stats, seconds);
        self.scratch_bytes = self.scratch_bytes.max(self.scratch.size() + stats.spilled_bytes);
        self.stages.push(StageTime { name: stage.name, seconds, stats });
    }
}

/// A run in the making.
struct Work<'a> {
    request: &'a Request,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    clock: Clock<'a>,
    started: Instant,
}

impl Work<'_> {
    fn run(mut self) -> Result<Outcome, Failure> {
        let Self { request, scratch, context, .. } = self;
        let admission = |nodes| plan::admit(request.memory, nodes, request.options.edges);
        let clock = &mut self.clock;
        let facts = v8::run(&request.input, scratch, context, &admission, &mut |stage, stats| {
            clock.finished(stage, stats);
        })?;
        let name = match &request.snapshot {
            Some(name) => name.clone(),
            None => format!("{}-{}", inputs::stem(&request.input), &facts.input_hash[..8]),
        };
        let place = commit::place(&request.lake, &request.release, &name);
        // Standard input has no size to look for beforehand, and a name may belong to another snapshot.
        if let Some(run) = commit::read(&place)?.filter(|_| !request.force) {
            if run.input_hash == facts.input_hash {
                return same_or_taken(request, place, run);
            }
            return Err(Failure::Taken { place, difference: "its input".to_owned() });
        }
        self.graph(&facts)?;
        self.publish(&facts, &name, place)
    }

    fn graph(&mut self, facts: &Facts) -> Result<(), StageError> {
        let Self { scratch, context, clock, .. } = self;
        clock.finished(&preorder::STAGE, preorder::run(facts.root, scratch, context)?);
        clock.finished(&retainers::STAGE, retainers::run(scratch, context)?);
        clock.finished(&dominators::STAGE, dominators::run(scratch, context)?);
        clock.finished(&retained::STAGE, retained::run(facts.root, facts.has_native, scratch, context)?);
        clock.finished(&distances::STAGE, distances::run(&facts.distance_seeds, scratch, context)?);
        clock.finished(&class_rows::STAGE, class_rows::run(facts, scratch, context)?);
        clock.finished(&largest::STAGE, largest::run(facts, scratch, context)?);
        Ok(())
    }

    fn publish(mut self, facts: &Facts, name: &str, place: PathBuf) -> Result<Outcome, Failure> {
        let Self { request, scratch, context, clock, started } = &mut self;
        let new = NewRun::create(&place)?;
        let (node_table, totals, stats) = nodes::run(facts, scratch, new.folder(), context)?;
        clock.finished(&nodes::STAGE, stats);
        let mut tables = vec![node_table];
        if request.options.edges {
            let (table, stats) = edges::run(facts, scratch, new.folder(), context)?;
            clock.finished(&edges::STAGE, stats);
            tables.push(table);
        }
        let (table, classes, stats) = class_table::run(facts, scratch, new.folder(), context)?;
        clock.finished(&class_table::STAGE, stats);
        let class_count = table.rows;
        tables.push(table);
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
                classes,
                objects,
                wall_seconds: started.elapsed().as_secs_f64(),
                peak_rss_bytes: peak_rss(),
                scratch_bytes: clock.scratch_bytes,
            },
        };
        run.tables.push(snapshot::run(facts, &run, &totals, &clock.stages, new.folder())?);
        new.commit(&run)?;
        Ok(Outcome { place, run, unchanged: false })
    }
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
