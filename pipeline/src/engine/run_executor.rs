//! Run executor: takes one input through all stages of its run, into the lake.

use super::admission;
use super::columns::{self, Columns};
use super::execution::{Ran, Work, execute};
use super::existing;
use super::graph::Graph;
use super::input::Known;
use super::journal::{Done, Journal};
use super::registry::Product;
use super::request::{Outcome, Request};
use super::workplace::Workplace;
use crate::diagnostic::{Diagnostic, Exit};
use crate::inputs;
use crate::memory::{AtWork, peak_rss};
use crate::progress::{Display, Mode};
use heaplake_ingest::Format;
use heaplake_input::source::Input;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::{Handover, Output};
use heaplake_kit::{Budget, Context, IoAt, Scratch, StageError, Stats, storage};
use heaplake_lake::commit::NewRun;
use heaplake_lake::place::Place;
use heaplake_publish::snapshot::{self, Captured, StageTime};
use heaplake_replay::format as trace_format;
use heaplake_schemas::options::TableName;
use heaplake_schemas::replay;
use heaplake_schemas::run::{Run, Summary, Table};
use heaplake_schemas::scratch::{Metadata, documents};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

/// Makes the run of one input and commits it. On failure the lake is unchanged.
pub fn make(request: &Request, mode: Mode, cancel: &AtomicBool) -> Result<Outcome, Diagnostic> {
    let started = Instant::now();
    let _at_work = AtWork::begin();
    if !request.force
        && let Some(outcome) = existing::find(request, cancel)?
    {
        return Ok(outcome);
    }
    if let Input::File(path) = &request.input {
        // All later steps see this version; an error shows when it is opened.
        let _ = storage::input_anew(path);
    }
    // Reports a conflict over the place before the work.
    let place = request.snapshot.as_ref().map(|name| Place::take(&request.lake, &request.release, name)).transpose()?;
    place.iter().try_for_each(Place::refuse_replaced)?;
    let mut workplace = Workplace::take(request, cancel)?;
    let display = Display::named(mode, &inputs::stem(&request.input), &request.input.name());
    display.resuming(workplace.journal.done().len());
    let scratch = match workplace.journal.is_kept() {
        true => &workplace.scratch,
        false => &workplace.scratch.clone().with_residents(columns::in_memory(request.threads)),
    };
    let run_executor = RunExecutor { request, scratch, display: &display, cancel, started };
    let result = run_executor.run(place, &mut workplace.journal);
    // If the input changed meanwhile, that is the error, not its content.
    let result = match result {
        Err(diagnostic) if diagnostic.exit != Exit::Interrupted => {
            run_executor.unchanged(&workplace.journal).map_err(Diagnostic::from).and(Err(diagnostic))
        }
        result => result,
    };
    let is_masked = !request.options.analysis_or_default().texts.is_full();
    let result = if is_masked { result.map_err(Diagnostic::without_contents) } else { result };
    // Only an interrupted run keeps its scratch folder for the next attempt.
    let interrupted = matches!(&result, Err(diagnostic) if diagnostic.exit == Exit::Interrupted);
    workplace.keep = interrupted && workplace.journal.is_kept() && !workplace.journal.done().is_empty();
    result
}

/// Folder inside scratch for a run that goes to an object store.
const MADE: &str = "run";

/// A run in progress.
struct RunExecutor<'a> {
    request: &'a Request,
    scratch: &'a Scratch,
    display: &'a Display,
    cancel: &'a AtomicBool,
    started: Instant,
}

/// Metadata of an input that determines the name and place of its run.
enum Contents {
    Snapshot(Box<Metadata>, &'static dyn Format),
    Trace(Box<replay::Metadata>),
}

impl RunExecutor<'_> {
    fn run(&self, held: Option<Place>, journal: &mut Journal) -> Result<Outcome, Diagnostic> {
        let Self { request, scratch, display, cancel, .. } = *self;
        let options = &request.options;
        let budget = Budget::new(request.memory.saturating_sub(FIXED_OVERHEAD));
        let context = Context { budget: budget.clone(), threads: request.threads, progress: display, cancel };
        let known = Known::open(request, &context, |stage| journal.has(stage))?;
        drop(context);
        let graph = Graph::new(&known.entries(), &known.setting(options));
        let admit_size = |(nodes, edges)| admission::admit(&graph, request.memory, nodes, edges);
        let admit = |nodes| admit_size((nodes, 0));
        admit(0)?;
        let (format, setting) = (known.format, known.setting(options));
        let reopen = || self.reopen(&budget);
        let mut work = Work {
            scratch,
            columns: Columns::new(scratch, matches!(request.input, Input::File(_)), &budget)?,
            budget: budget.clone(),
            threads: request.threads,
            is_short: request.is_short(),
            setting,
            input: known.input,
            reopen: &reopen,
            admit: &admit,
            output: Output::default(),
            display,
            cancel,
        };
        execute(&graph, |position| position == 0, || (0, 0), &work, journal)?;
        let contents = Contents::read(format, scratch)?;
        // A resumed run may have a smaller budget than before.
        admit_size(contents.size(scratch))?;
        let (_, input_hash) = contents.identity();
        let name = request.snapshot.clone().unwrap_or_else(|| contents.run_name(request));
        self.unchanged(journal)?;
        if request.hash.as_deref().is_some_and(|hash| hash != input_hash) {
            return Err(StageError::changed(&request.input.name()).into());
        }
        let held = held.map_or_else(|| Place::take(&request.lake, &request.release, &name), Ok)?;
        let held = held.made_in(&scratch.folder().join(MADE));
        if let Some(outcome) = self.existing(&held, input_hash)? {
            return Ok(outcome);
        }
        let (place, new) = (held.path().to_owned(), NewRun::create(held)?);
        work.output = Output {
            folder: new.folder().to_owned(),
            input_hash: input_hash.to_owned(),
            release: request.release.clone(),
            snapshot: name,
        };
        let ran = execute(&graph, |_| true, || contents.size(scratch), &work, journal)?;
        journal.measure(scratch);
        let run = self.describe(&contents, (&graph, &ran), journal, &work.output)?;
        self.unchanged(journal)?;
        journal.committing(scratch, &place, new.identity())?;
        let run = new.commit(run)?;
        Ok(Outcome { place, run, unchanged: false, stages: times(&graph, &ran, journal) })
    }

    /// Returns the run at the place, if it is that of the input. Standard input has no size to look for beforehand, and a
    /// name may belong to another input.
    fn existing(&self, held: &Place, input_hash: &str) -> Result<Option<Outcome>, Diagnostic> {
        let is_free = held.is_remote() && held.standing().is_none();
        if self.request.force || is_free { Ok(None) } else { existing::at(held.path(), self.request, input_hash) }
    }

    /// Opens the input again. It was readable before, so a refusal is due to a change.
    fn reopen(&self, budget: &Budget) -> Result<Handover, StageError> {
        let Self { request, display, cancel, .. } = *self;
        let context = Context { budget: budget.clone(), threads: request.threads, progress: display, cancel };
        match Known::open(request, &context, |_| false) {
            Ok(known) => Ok(known.input),
            Err(refused) => {
                Err(refused.error.map_or_else(|| StageError::changed(&request.input.name()), |error| *error))
            }
        }
    }

    /// Refuses an input that changed since it was opened.
    fn unchanged(&self, journal: &Journal) -> Result<(), StageError> {
        if journal.is_of(&self.request.input) { Ok(()) } else { Err(StageError::changed(&self.request.input.name())) }
    }

    /// Describes the run, and writes the snapshot table.
    fn describe(
        &self,
        contents: &Contents,
        (graph, ran): (&Graph, &[Ran]),
        journal: &Journal,
        output: &Output,
    ) -> Result<Run, StageError> {
        let Self { request, scratch, .. } = *self;
        let summary: Summary = scratch.read_document(documents::SUMMARY)?;
        let (input_bytes, input_hash) = contents.identity();
        let captured = contents.captured(scratch, changed(&request.input))?;
        let mut run = Run {
            seal: None,
            heaplake_version: HEAPLAKE_VERSION.to_owned(),
            schema_version: SCHEMA_VERSION,
            snapshot: output.snapshot.clone(),
            release: output.release.clone(),
            source: request.input.name(),
            input_bytes,
            input_hash: input_hash.to_owned(),
            input_tag: existing::tag(&request.input),
            captured_at_us: captured.map(|captured| captured.at_us),
            folder: None,
            packed: None,
            options: request.options.clone(),
            tables: tables(graph, ran, &output.folder)?,
            summary: Summary {
                wall_seconds: self.started.elapsed().as_secs_f64(),
                peak_rss_bytes: peak_rss(),
                scratch_bytes: journal.peak(),
                ..summary
            },
            replay: None,
        };
        match contents {
            Contents::Snapshot(..) => {
                if request.options.analysis().is_some_and(|options| options.tables.has(TableName::Snapshot)) {
                    // Stages after the reader add metadata.
                    let metadata: Arc<Metadata> = scratch.share_document(documents::METADATA)?;
                    let totals = scratch.read_document(documents::TOTALS)?;
                    let costs = times(graph, ran, journal);
                    run.tables.push(snapshot::write(&metadata, &run, &totals, &costs, output, captured)?);
                }
            }
            Contents::Trace(_) => {
                run.replay = Some(scratch.read_document(documents::REPLAY)?);
            }
        }
        Ok(run)
    }
}

impl Contents {
    fn read(format: Option<&'static dyn Format>, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(match format {
            Some(format) => Self::Snapshot(Box::new(scratch.read_document(documents::METADATA)?), format),
            None => Self::Trace(Box::new(scratch.read_document(replay::METADATA)?)),
        })
    }

    /// Stored bytes and hash of the input.
    fn identity(&self) -> (u64, &str) {
        match self {
            Self::Snapshot(metadata, _) => (metadata.input_bytes, &metadata.input_hash),
            Self::Trace(metadata) => (metadata.input_bytes, &metadata.input_hash),
        }
    }

    /// Numbers of nodes and edges. Some formats know the number of edges only after some stages.
    fn size(&self, scratch: &Scratch) -> (u64, u64) {
        match self {
            Self::Snapshot(metadata, _) => {
                let known = scratch.share_document(documents::METADATA);
                let edges = known.map(|metadata: Arc<Metadata>| metadata.edge_count);
                (metadata.node_count, edges.unwrap_or(metadata.edge_count))
            }
            Self::Trace(_) => (0, 0),
        }
    }

    /// Capture time of the input, and its source.
    fn captured(&self, scratch: &Scratch, changed: Option<SystemTime>) -> Result<Option<Captured>, StageError> {
        let told = match self {
            // Stages after the reader may find it.
            Self::Snapshot(..) => scratch.read_document::<Metadata>(documents::METADATA)?.captured_at_us,
            Self::Trace(_) => None,
        };
        Ok(Captured::find(told, changed))
    }

    fn run_name(&self, request: &Request) -> String {
        let stem = inputs::stem(&request.input);
        match self {
            Self::Trace(metadata) => trace_format::run_name(&stem, metadata),
            Self::Snapshot(metadata, format) => format.run_name(&stem, metadata, request.options.analysis_or_default()),
        }
    }
}

/// Modification time of the input file.
fn changed(input: &Input) -> Option<SystemTime> {
    match input {
        Input::File(path) => storage::input(path).ok()?.changed,
        Input::Stdin => None,
    }
}

/// The tables that were written, in graph order.
fn tables(graph: &Graph, ran: &[Ran], folder: &Path) -> Result<Vec<Table>, StageError> {
    let mut tables = Vec::new();
    for Ran { position, done } in ran {
        if let Product::Table(file) = graph.steps[*position].product {
            let path = folder.join(file);
            let bytes = fs::metadata(&path).at(&path, "examine")?.len();
            tables.push(Table { file: file.to_owned(), rows: done.rows, bytes, xxh3_64: None });
        }
    }
    Ok(tables)
}

/// Cost of all stages: those of this and of earlier attempts, then the tables.
fn times(graph: &Graph, ran: &[Ran], journal: &Journal) -> Vec<StageTime> {
    let time = |done: &Done| StageTime {
        name: done.stage.clone(),
        seconds: done.seconds,
        stats: Stats { rows: done.rows, spilled_bytes: done.spilled_bytes },
    };
    let tables = ran.iter().filter(|ran| matches!(graph.steps[ran.position].product, Product::Table(_)));
    journal.done().iter().chain(tables.map(|ran| &ran.done)).map(time).collect()
}
