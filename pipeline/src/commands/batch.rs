//! Many inputs, one after the other: each becomes a run, and what fails does not stop the others.

use super::choices::{Ending, Placement, Resources, Telling, Trust};
use super::tally::{Tally, log_outcome};
use crate::complaint::{Complaint, Done, Exit, Kind};
use crate::engine::making;
use crate::engine::request::{Outcome, Request};
use crate::engine::workplace::sweep;
use crate::inputs::Unusable;
use crate::metrics;
use crate::print::progress::Mode;
use crate::print::terminal::Look;
use crate::print::{self, summary};
use heaplake_input::source::Input;
use heaplake_kit::StageError;
use heaplake_kit::text::visible;
use heaplake_report as reports;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::options::Options;
use heaplake_schemas::run::Run;
use serde::Serialize;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Inputs, each of which becomes a run.
pub struct Batch<'a> {
    /// The inputs, and what is none.
    pub inputs: Vec<Result<Input, Unusable>>,
    /// Where runs go.
    pub placement: &'a Placement,
    /// What a run may take.
    pub resources: &'a Resources,
    /// What is believed of inputs.
    pub trust: Trust,
    /// What is told of runs besides their tables.
    pub telling: &'a Telling,
}

impl Batch<'_> {
    /// Makes the runs, each with the options for its input; the exit code.
    ///
    /// # Errors
    /// A [`Complaint`] where none can be made.
    pub fn run(self, options: impl Fn(&Input) -> Options) -> Done {
        let Self { inputs, placement, resources, trust, telling } = self;
        if placement.snapshot.is_some() && inputs.len() > 1 {
            let cause = format!("--snapshot names one snapshot, but {} inputs are given", inputs.len());
            return Err(Complaint::usage(cause, "leave --snapshot out"));
        }
        prepare(&placement.out).map_err(Complaint::of_usage)?;
        sweep(&placement.out, resources.scratch.as_deref());
        let cancel = stopped_by_signals();
        let found = RefCell::new(Vec::new());
        let make = |request: &Request, mode: Mode, cancel: &AtomicBool| {
            let outcome = making::make(request, mode, cancel)?;
            // An existing run may have its page.
            let page = outcome.place.join(reports::FILE);
            if telling.report && !(outcome.unchanged && page.exists()) {
                reports::make(&outcome.run, &outcome.place, &page, request.memory, cancel)?;
            }
            if telling.findings_json.is_some() {
                found.borrow_mut().push(Found::new(request.input.name(), &outcome));
            }
            Ok(outcome)
        };
        let requests = inputs.into_iter().map(|input| match input {
            Err((name, why)) => {
                let complaint = Complaint::failed(format!("{name}: {why}"), "name a file, or a folder that holds some");
                Requested { name, request: Err(complaint) }
            }
            Ok(input) => {
                let options = options(&input);
                let request = request(input, (placement, resources, trust), options);
                Requested { name: request.input.name(), request: Ok(request) }
            }
        });
        let code = work_through(requests, make, &cancel, &telling.ending)?;
        Ok(telling.findings_json.as_deref().map_or(code, |path| code.max(write_findings(path, &found.into_inner()))))
    }
}

fn request(input: Input, (placement, resources, trust): (&Placement, &Resources, Trust), options: Options) -> Request {
    Request {
        input,
        lake: placement.out.clone(),
        release: placement.release.clone(),
        snapshot: placement.snapshot.clone(),
        hash: None,
        options,
        memory: resources.memory(),
        threads: resources.threads(),
        scratch: resources.scratch.clone(),
        resume: placement.resume,
        force: placement.force,
        allow_bomb: trust.allow_bomb,
    }
}

/// What an input is called, and what to do with it.
pub struct Requested {
    /// Its name.
    pub name: String,
    /// What to do, or why nothing can be done.
    pub request: Result<Request, Complaint>,
}

/// Does what is requested, one after the other; the exit code.
///
/// # Errors
/// None: what fails is told, and the others go on.
pub fn work_through(
    mut requests: impl ExactSizeIterator<Item = Requested>,
    make: impl Fn(&Request, Mode, &AtomicBool) -> Result<Outcome, Complaint>,
    cancel: &AtomicBool,
    ending: &Ending,
) -> Done {
    let Ending { quiet, json, .. } = *ending;
    let mode = Mode::choose(quiet);
    let mut code = 0;
    let mut reports = Vec::new();
    let mut tally = Tally::begin();
    for Requested { name, request } in requests.by_ref() {
        match request.and_then(|request| make(&request, mode, cancel)) {
            Ok(outcome) => {
                tally.add(&outcome);
                if mode == Mode::Json {
                    log_outcome(&visible(&name), &outcome);
                }
                if !quiet && !json {
                    present(&name, &outcome);
                }
                if json {
                    reports.push(Report::done(name, outcome));
                }
            }
            Err(complaint) => {
                let complaint = complaint.about(&name);
                code = code.max(complaint.tell());
                tally.fail(&complaint);
                let (kind, exit) = (complaint.kind(), complaint.exit);
                if json {
                    let (error, advice) = (complaint.cause, complaint.advice);
                    reports.push(Report::Failed { input: name, kind, error, advice });
                }
                if exit == Exit::Interrupted {
                    break;
                }
            }
        }
    }
    tally.not_started = requests.len() as u64;
    if json {
        print::json(&reports)?;
    } else if !quiet && tally.inputs() > 1 {
        print::text(&format!("\n{}\n", tally.line()));
    }
    tally.log();
    let written = ending.metrics.as_deref().map_or(Ok(()), |path| metrics::write(&tally, path));
    Ok(written.map_or_else(|error| Complaint::from(error).tell(), |()| code).max(code))
}

/// Is set when the user wants to stop.
pub(super) fn stopped_by_signals() -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&cancel);
    // Without a handler an interrupt ends the process at once, which is only less tidy.
    let _ = ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed));
    cancel
}

/// Checks that the lake can be written to, making it where there is none.
///
/// # Errors
/// [`StageError::Io`].
pub fn prepare(lake: &Path) -> Result<(), StageError> {
    fs::create_dir_all(lake).map_err(|error| StageError::io(lake, "create", error))?;
    // It has no name, so nothing is left of it.
    tempfile::tempfile_in(lake).map(drop).map_err(|error| StageError::io(lake, "write into", error))
}

/// What became of one input, for machines.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Report {
    /// The run is new in the lake.
    Committed { input: String, path: PathBuf, run: Box<Run> },
    /// The run was there already.
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

fn present(input: &str, outcome: &Outcome) {
    let place = outcome.place.display();
    let text = if outcome.unchanged {
        format!("{input}: in the lake already, nothing to do ({place}); --force replaces it\n")
    } else {
        summary::text(&outcome.run, &outcome.place, &Look::stdout())
    };
    print::text(&text);
}

/// The findings of a run, for machines.
#[derive(Serialize)]
struct Found {
    input: String,
    path: PathBuf,
    snapshot: String,
    release: String,
    findings: Vec<Finding>,
}

impl Found {
    fn new(input: String, outcome: &Outcome) -> Self {
        let run = &outcome.run;
        let (snapshot, release) = (run.snapshot.clone(), run.release.clone());
        Self { input, path: outcome.place.clone(), snapshot, release, findings: run.summary.findings.clone() }
    }
}

/// Writes the findings of all runs; the exit code.
fn write_findings(path: &Path, found: &[Found]) -> u8 {
    let text = serde_json::to_vec_pretty(found).map_err(std::io::Error::from);
    match text.and_then(|text| fs::write(path, text)) {
        Ok(()) => 0,
        Err(error) => Complaint::from(StageError::io(path, "write", error)).tell(),
    }
}
