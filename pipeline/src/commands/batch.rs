//! Batch scheduler: each input becomes a run, and a failure does not stop the others.

use super::batch_scheduler::{self, Concurrency, Requested};
use super::cataloguing::Cataloguing;
use super::choices::{Ending, Placement, Resources, Telling, Trust};
use super::outputs;
use super::pages;
use crate::diagnostic::{Diagnostic, Done, Kind};
use crate::engine::request::{Outcome, Request};
use crate::engine::run_executor;
use crate::engine::workplace::sweep;
use crate::inputs::Unusable;
use crate::metrics;
use crate::metrics::tally::{Tally, log_outcome};
use crate::print::terminal::Look;
use crate::print::{self, failures, summary};
use crate::progress::{Display, Mode};
use heaplake_input::source::Input;
use heaplake_kit::text::visible;
use heaplake_kit::{IoAt, Progress, StageError, fs, stop, storage};
use heaplake_lake::output_file;
use heaplake_report as reports;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::options::Options;
use heaplake_schemas::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::thread;

/// A batch of inputs, each of which becomes a run.
pub(super) struct Batch<'a> {
    /// The inputs, and arguments that yield none.
    pub inputs: Vec<Result<Input, Unusable>>,
    /// Placement of runs.
    pub placement: &'a Placement,
    /// Resources of a run.
    pub resources: &'a Resources,
    /// Trust in inputs.
    pub trust: Trust,
    /// Output besides tables.
    pub telling: &'a Telling,
    /// Files read besides the inputs.
    pub read: outputs::Named<'a>,
}

impl Batch<'_> {
    /// Makes the runs, each with the options for its input; returns the exit code. Fails only if no run can be made.
    pub(super) fn run(self, options: impl Fn(&Input) -> Options) -> Done {
        let Self { inputs, placement, resources, trust, telling, read } = self;
        let written =
            [("--findings-json", telling.findings_json.as_deref()), ("--metrics", telling.ending.metrics.as_deref())];
        outputs::check(&written, || [outputs::of_inputs(&inputs), read].concat())?;
        if placement.snapshot.is_some() && inputs.len() > 1 {
            let cause = format!("--snapshot names one snapshot, but {} inputs are given", inputs.len());
            return Err(Diagnostic::usage(cause, "leave --snapshot out"));
        }
        prepare(&placement.out).map_err(Diagnostic::of_usage)?;
        telling.findings_json.iter().try_for_each(|file| output_file::check(file)).map_err(Diagnostic::of_usage)?;
        telling.ending.check()?;
        sweep(&placement.out, resources.scratch.as_deref());
        let cancel = stopped_by_signals();
        // An existing run may have its page.
        let has_page = |outcome: &Outcome| outcome.unchanged && storage::is_file(&outcome.place.join(reports::FILE));
        let make = |request: &Request, mode: Mode, cancel: &AtomicBool| {
            make(request, mode, cancel, |outcome| telling.report && !has_page(outcome))
        };
        let requests = inputs.into_iter().map(|input| match input {
            Err((name, why)) => {
                let diagnostic =
                    Diagnostic::failed(format!("{name}: {why}"), "name a file, or a folder that holds some");
                Requested { name, request: Err(diagnostic) }
            }
            Ok(input) => {
                let (name, options) = (input.name(), options(&input));
                Requested { name, request: request(input, (placement, resources, trust), options) }
            }
        });
        let requests: Vec<Requested> = requests.collect();
        let concurrency = Concurrency::of(resources.effort.memory(), resources.effort.threads(), &requests);
        let mut found = Vec::new();
        let done = |name: &str, outcome: &Outcome| {
            if telling.findings_json.is_some() {
                found.push(FindingsJson::new(name.to_owned(), outcome));
            }
        };
        let catalogue = Cataloguing::new(resources.scratch.as_deref());
        let code = work_through(requests.into_iter(), concurrency, make, (&cancel, &telling.ending, catalogue), done)?;
        Ok(telling.findings_json.as_deref().map_or(code, |path| code.max(write_findings(path, &found, &cancel))))
    }
}

fn request(
    input: Input,
    (placement, resources, trust): (&Placement, &Resources, Trust),
    options: Options,
) -> Result<Request, Diagnostic> {
    Ok(Request {
        release: placement.release(&input)?,
        input,
        lake: placement.out.clone(),
        snapshot: placement.snapshot.clone(),
        hash: None,
        options,
        memory: resources.effort.memory(),
        threads: resources.effort.threads(),
        scratch: resources.scratch.clone(),
        resume: placement.resume,
        force: placement.force,
        allow_bomb: trust.allow_bomb,
    })
}

/// Makes a run, and its page if it is wanted.
pub(super) fn make(
    request: &Request,
    mode: Mode,
    cancel: &AtomicBool,
    wants_page: impl FnOnce(&Outcome) -> bool,
) -> Result<Outcome, Diagnostic> {
    let outcome = run_executor::make(request, mode, cancel)?;
    if wants_page(&outcome) {
        let (run, place) = (&outcome.run, &outcome.place);
        let page = |page: &Path| reports::make(run, place, page, request.memory, cancel);
        pages::put(&place.join(reports::FILE), request.scratch.as_deref(), page)?;
    }
    Ok(outcome)
}

/// Executes the requests; returns the exit code. `done` sees each run in the lake, in request order. Failures are
/// reported, and the others go on.
pub(super) fn work_through(
    mut requests: impl ExactSizeIterator<Item = Requested>,
    concurrency: Concurrency,
    make: impl Fn(&Request, Mode, &AtomicBool) -> Result<Outcome, Diagnostic> + Sync,
    (cancel, ending, mut catalogue): (&AtomicBool, &Ending, Cataloguing<'_>),
    mut done: impl FnMut(&str, &Outcome),
) -> Done {
    let Ending { quiet, json, summary, .. } = *ending;
    let in_full = summary || requests.len() == 1;
    let mode = Mode::choose(quiet);
    // One bar for all inputs where several bars would be drawn at a time.
    let bar = (mode == Mode::Bars && concurrency.is_wanted).then(|| Display::new(mode, "all inputs"));
    let mode_of_each = if bar.is_some() { Mode::Quiet } else { mode };
    bar.iter().for_each(|bar| bar.begin("", requests.len() as u64));
    let mut telling = Told { code: 0, reports: Vec::new(), tally: Tally::begin(), mode, quiet, json, in_full };
    let tell = |name: String, result: Result<Outcome, Diagnostic>| {
        if let Ok(outcome) = &result {
            done(&name, outcome);
            catalogue.add(outcome);
        }
        telling.add(name, result);
        bar.iter().for_each(|bar| bar.advance(1));
    };
    let not_started =
        batch_scheduler::work(&mut requests, concurrency, |request| make(request, mode_of_each, cancel), tell);
    catalogue.write();
    drop(bar);
    telling.tally.not_started = not_started;
    telling.end(ending, cancel)
}

/// Output state of a batch.
struct Told {
    code: u8,
    reports: Vec<Report>,
    tally: Tally,
    mode: Mode,
    quiet: bool,
    json: bool,
    /// Whether to print the summary of each run, not a line.
    in_full: bool,
}

impl Told {
    /// Reports the outcome of an input.
    fn add(&mut self, name: String, result: Result<Outcome, Diagnostic>) {
        match result {
            Ok(outcome) => {
                self.tally.add(&outcome);
                if self.mode == Mode::Json {
                    log_outcome(&visible(&name), &outcome);
                }
                if !self.quiet && !self.json {
                    present(&name, &outcome, self.in_full);
                }
                if self.json {
                    self.reports.push(Report::done(name, outcome));
                }
            }
            Err(diagnostic) => {
                let diagnostic = diagnostic.about(&name);
                self.code = self.code.max(diagnostic.tell());
                self.tally.fail(&diagnostic);
                if self.json {
                    let (kind, error, advice) = (diagnostic.kind(), diagnostic.cause, diagnostic.advice);
                    self.reports.push(Report::Failed { input: name, kind, error, advice });
                }
            }
        }
    }

    /// Reports the outcome of the batch; returns the exit code.
    fn end(self, ending: &Ending, cancel: &AtomicBool) -> Done {
        let Self { code, reports, tally, quiet, json, .. } = self;
        if json {
            print::json(&reports)?;
        } else if !quiet && tally.inputs() > 1 {
            print::text(&format!("\n{}\n{}", tally.line(), failures::text(&tally, &Look::stdout())));
        }
        tally.log();
        let written = ending
            .metrics
            .as_deref()
            .map_or(Ok(()), |path| metrics::write(path, cancel, |now| metrics::batch::text(&tally, now)));
        Ok(written.map_or_else(|error| Diagnostic::from(error).tell(), |()| code).max(code))
    }
}

/// Signals by which a user, a shell or a scheduler stops a process.
const HEARD: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Whether some command polls the flag of [`stopped_by_signals`].
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Returns the process's flag that a stop signal sets; the caller must poll it.
pub(super) fn stopped_by_signals() -> Arc<AtomicBool> {
    IS_WATCHED.store(true, Ordering::Relaxed);
    end_with_signals()
}

/// Installs the signal handlers. A signal, even one that a shell makes background commands ignore, ends the process
/// unless a command polls the flag. A command that does not poll leaves nothing behind and only reports the
/// interruption. The handler itself sets the flag, so it is visible as soon as the signal came.
pub(super) fn end_with_signals() -> Arc<AtomicBool> {
    static CANCEL: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let hear = || {
        let cancel = Arc::new(AtomicBool::new(false));
        stop::stop_on(&cancel);
        for signal in HEARD {
            // Without a handler a signal ends the process at once, which is only less tidy.
            let _ = signal_hook::flag::register(signal, Arc::clone(&cancel));
        }
        if let Ok(mut signals) = Signals::new(HEARD) {
            // Without the thread a command that does not poll ends a little later.
            let listen = move || signals.forever().for_each(|_| end_unwatched());
            let _ = thread::Builder::new().name("signals".to_owned()).stack_size(1 << 18).spawn(listen);
        }
        cancel
    };
    Arc::clone(CANCEL.get_or_init(hear))
}

/// Ends the process after a signal if no command polls for it.
pub(super) fn end_unwatched() {
    static END: Once = Once::new();
    if stop::flag().load(Ordering::Relaxed) && !IS_WATCHED.load(Ordering::Relaxed) {
        END.call_once(|| std::process::exit(Diagnostic::from(StageError::Cancelled).tell().into()));
    }
}

/// Checks that the lake is writable, creating it if missing.
pub(super) fn prepare(lake: &Path) -> Result<(), StageError> {
    if let Some(url) = storage::url(lake) {
        // The first run finds out whether it is writable.
        let listed = storage::store().and_then(|store| store.level(url));
        return listed.map(drop).at(lake, "list");
    }
    fs::create_dir_all(lake).at(lake, "create")?;
    // An unnamed file, so nothing is left of it.
    tempfile::tempfile_in(lake).map(drop).at(lake, "write into")
}

/// Outcome of one input as JSON.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(super) enum Report {
    /// The run is new in the lake.
    Committed { input: String, path: PathBuf, run: Box<Run> },
    /// The run existed before.
    Unchanged { input: String, path: PathBuf, run: Box<Run> },
    /// There is no run.
    Failed { input: String, kind: Kind, error: String, advice: String },
}

impl Report {
    fn done(input: String, outcome: Outcome) -> Self {
        let (path, run) = (outcome.place, Box::new(outcome.run));
        if outcome.unchanged { Self::Unchanged { input, path, run } } else { Self::Committed { input, path, run } }
    }
}

/// Prints the summary of a run, or a line about it.
fn present(input: &str, outcome: &Outcome, in_full: bool) {
    let place = outcome.place.display();
    let text = if outcome.unchanged {
        format!("{input}: in the lake already, nothing to do ({place}); --force replaces it\n")
    } else if in_full {
        summary::text(&outcome.run, &outcome.place, &Look::stdout())
    } else {
        summary::line(input, &outcome.run, &outcome.place)
    };
    print::text(&text);
}

/// Findings of a run as JSON.
#[derive(Serialize, JsonSchema)]
pub(super) struct FindingsJson {
    input: String,
    path: PathBuf,
    snapshot: String,
    release: String,
    findings: Vec<Finding>,
}

impl FindingsJson {
    fn new(input: String, outcome: &Outcome) -> Self {
        let run = &outcome.run;
        let (snapshot, release) = (run.snapshot.clone(), run.release.clone());
        Self { input, path: outcome.place.clone(), snapshot, release, findings: run.summary.findings.clone() }
    }
}

/// Writes the findings of all runs; returns the exit code.
fn write_findings(path: &Path, found: &[FindingsJson], cancel: &AtomicBool) -> u8 {
    let text = serde_json::to_vec_pretty(found).map_err(|error| StageError::io(path, "write", error.into()));
    let written = text.and_then(|text| output_file::write(path, &text, cancel));
    written.map_or_else(|error| Diagnostic::from(error).tell(), |()| 0)
}
