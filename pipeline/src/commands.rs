//! What the command line asks for, done.

use crate::again;
use crate::analyze::{self, Failure, Outcome, Request, analyze};
use crate::cli::{
    Analyze, Cli, Command, DuplicatesOf, Plan, Report as Page, Show, TopOptions, TreeOptions, WhyOptions,
};
use crate::forecast::{Forecast, Heap};
use crate::inputs::{self, Unusable, Wanted};
use crate::inspect::top::{self, Top};
use crate::inspect::tree::{self, Branch};
use crate::inspect::why::{self, Why};
use crate::inspect::{Asked, Unanswered};
use crate::memory::default_budget;
use crate::owners;
use crate::progress::Mode;
use crate::replay::replay;
use crate::replay_cli::{Replay, Track};
use crate::reports;
use crate::summary;
use crate::track;
use clap::CommandFactory;
use heaplake_ingest::jvm::sample::{self, Estimate};
use heaplake_ingest::source::{Input, Source};
use heaplake_ingest::v8::read;
use heaplake_ingest::{Format, dotnet};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_publish::commit;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::run::{Options, OwnerRules, ReplayOptions, Run};
use serde::Serialize;
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const RESOURCES: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Does what the command line asks for; the exit code of the process.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let code = match cli.command {
        Command::Analyze(options) => run_analyze(&options),
        Command::Duplicates(options) => run_duplicates(&options),
        Command::Replay(options) => run_replay(&options),
        Command::Track(options) => answered(track::find(&options), options.json, track::Found::text),
        Command::Plan(options) => run_plan(&options),
        Command::Show(options) => run_show(&options),
        Command::Report(options) => run_report(&options),
        Command::Why(WhyOptions { run, subject, json }) => {
            let answer = Asked::open(&run).and_then(|asked| why::ask(&asked, subject));
            answered(answer, json, Why::text)
        }
        Command::Top(TopOptions { run, classes, count, json }) => {
            let patterns: Vec<_> = classes.iter().filter_map(|text| glob::Pattern::new(text).ok()).collect();
            let answer = Asked::open(&run).and_then(|asked| top::ask(&asked, &patterns, usize::from(count)));
            answered(answer, json, Top::text)
        }
        Command::Dominators(TreeOptions { run, subject, depth, children, json }) => {
            let (depth, children) = (usize::from(depth), usize::from(children));
            let answer = Asked::open(&run).and_then(|asked| tree::ask(&asked, subject, depth, children));
            answered(answer, json, Branch::text)
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "heaplake", &mut text);
            print(&text)
        }
        Command::Man { command } => run_man(command.as_deref()),
    };
    ExitCode::from(code)
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
    Failed { input: String, error: String, advice: String },
}

fn run_analyze(options: &Analyze) -> u8 {
    let memory = options.memory.map_or_else(default_budget, |size| size.0);
    let owners = match options.owners.as_deref().map(owners::read).transpose() {
        Ok(owners) => owners,
        Err(unusable) => return complain(&unusable.to_string(), owners::Unusable::ADVICE, USAGE),
    };
    let batch = Batch {
        inputs: inputs::resolve(&options.inputs, Wanted::Snapshots),
        lake: &options.out,
        named: options.snapshot.is_some(),
        told: Told {
            report: options.report,
            findings: options.findings_json.as_deref(),
            quiet: options.quiet,
            json: options.json,
        },
    };
    batch.run(|input| request(options, owners.as_ref(), input, memory), analyze)
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
    match text.and_then(|text| std::fs::write(path, text)) {
        Ok(()) => 0,
        Err(error) => failed(&StageError::io(path, "write", error), FAILED),
    }
}

fn run_replay(options: &Replay) -> u8 {
    let memory = options.memory.map_or_else(default_budget, |size| size.0);
    let batch = Batch {
        inputs: inputs::resolve(&options.inputs, Wanted::Traces),
        lake: &options.out,
        named: options.snapshot.is_some(),
        told: Told {
            report: options.report,
            findings: options.findings_json.as_deref(),
            quiet: options.quiet,
            json: options.json,
        },
    };
    batch.run(|input| replay_request(options, input, memory), replay)
}

/// Inputs, each of which becomes a run.
struct Batch<'a> {
    inputs: Vec<Result<Input, Unusable>>,
    lake: &'a Path,
    /// Whether the user named the run.
    named: bool,
    told: Told<'a>,
}

/// What is told of runs besides their tables.
struct Told<'a> {
    /// Whether each gets a page.
    report: bool,
    /// Where the findings of all of them go.
    findings: Option<&'a Path>,
    quiet: bool,
    json: bool,
}

impl Batch<'_> {
    /// Makes the runs; the exit code.
    fn run(
        self,
        request: impl Fn(Input) -> Request,
        make: impl Fn(&Request, Mode, &AtomicBool) -> Result<Outcome, Failure>,
    ) -> u8 {
        if self.named && self.inputs.len() > 1 {
            let cause = format!("--snapshot names one snapshot, but {} inputs are given", self.inputs.len());
            return complain(&cause, "leave --snapshot out", USAGE);
        }
        if let Err(error) = analyze::prepare(self.lake) {
            return failed(&error, USAGE);
        }
        let Told { report, findings, quiet, json } = self.told;
        let found = RefCell::new(Vec::new());
        let make = |request: &Request, mode: Mode, cancel: &AtomicBool| {
            let outcome = make(request, mode, cancel)?;
            // A run that stood before may have its page.
            let page = outcome.place.join(reports::FILE);
            if report && !(outcome.unchanged && page.exists()) {
                reports::make(&outcome.run, &outcome.place, &page, request.memory, cancel)?;
            }
            found.borrow_mut().push(Found::new(request.input.name(), &outcome));
            Ok(outcome)
        };
        let requests = self.inputs.into_iter().map(|input| match input {
            Err((name, why)) => {
                let advice = "name a file, or a folder that holds some".to_owned();
                (name.clone(), Err((format!("{name}: {why}"), advice, FAILED)))
            }
            Ok(input) => (input.name(), Ok(request(input))),
        });
        let code = work_through(requests, make, quiet, json);
        findings.map_or(code, |path| code.max(write_findings(path, &found.into_inner())))
    }
}

fn run_duplicates(options: &DuplicatesOf) -> u8 {
    if options.input.is_some() && options.targets.len() > 1 {
        let cause = format!("--input names one snapshot, but {} runs are given", options.targets.len());
        return complain(&cause, "leave --input out", USAGE);
    }
    let requests = options.targets.iter().map(|target| {
        let name = target.display().to_string();
        (name.clone(), again::request(options, target).map_err(|failure| explain(&name, &failure)))
    });
    // A run is replaced as a whole, so those that have a page get a new one.
    let has_page = |run: &&PathBuf| run.join(reports::FILE).exists();
    let with_pages: Vec<PathBuf> =
        options.targets.iter().filter(has_page).filter_map(|run| run.canonicalize().ok()).collect();
    let make = |request: &Request, mode: Mode, cancel: &AtomicBool| {
        let outcome = analyze(request, mode, cancel)?;
        if outcome.place.canonicalize().is_ok_and(|place| with_pages.contains(&place)) {
            let page = outcome.place.join(reports::FILE);
            reports::make(&outcome.run, &outcome.place, &page, request.memory, cancel)?;
        }
        Ok(outcome)
    };
    work_through(requests, make, options.quiet, options.json)
}

/// What a failure says: cause, advice, exit code.
type Complaint = (String, String, u8);

/// What an input is called, and what to do with it.
type Requested = (String, Result<Request, Complaint>);

/// Does what is requested, one after the other; the exit code.
fn work_through(
    requests: impl Iterator<Item = Requested>,
    make: impl Fn(&Request, Mode, &AtomicBool) -> Result<Outcome, Failure>,
    quiet: bool,
    json: bool,
) -> u8 {
    let mode = Mode::choose(quiet);
    let subscriber =
        tracing_subscriber::fmt().with_writer(std::io::stderr).without_time().with_target(false).with_level(false);
    // A second subscriber in one process (tests) changes nothing.
    let _ = subscriber.with_ansi(false).try_init();
    let cancel = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&cancel);
    // Without a handler an interrupt ends the process at once, which is only less tidy.
    let _ = ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed));

    let mut code = 0;
    let mut reports = Vec::new();
    for (name, request) in requests {
        let result =
            request.and_then(|request| make(&request, mode, &cancel).map_err(|failure| explain(&name, &failure)));
        match result {
            Ok(outcome) => {
                if !quiet && !json {
                    present(&name, &outcome);
                }
                reports.push(committed(name, outcome));
            }
            Err((error, advice, failed)) => {
                code = code.max(complain(&error, &advice, failed));
                reports.push(Report::Failed { input: name, error, advice });
                if failed == INTERRUPTED {
                    break;
                }
            }
        }
    }
    if json {
        print_json(&reports);
    }
    code
}

fn replay_request(options: &Replay, input: Input, memory: u64) -> Request {
    Request {
        input,
        lake: options.out.clone(),
        release: options.release.clone(),
        snapshot: options.snapshot.clone(),
        options: Options {
            labels: options.labels.iter().cloned().collect(),
            replay: Some(ReplayOptions {
                sample_interval: options.sample_interval,
                sample_mode: options.sample_mode,
                seed: options.seed,
                tables: options.tables.all(),
                pprof: options.pprof,
                collapsed: options.collapsed,
            }),
            ..Options::default()
        },
        memory,
        threads: threads(options.threads),
        scratch: options.scratch.clone(),
        force: options.force,
    }
}

fn request(options: &Analyze, owners: Option<&OwnerRules>, input: Input, memory: u64) -> Request {
    Request {
        input,
        lake: options.out.clone(),
        release: options.release.clone(),
        snapshot: options.snapshot.clone(),
        options: Options {
            tables: options.tables.all(),
            labels: options.labels.iter().cloned().collect(),
            referents: options.referents,
            salvage: options.salvage,
            walk: options.walk.0,
            big: options.big.options(),
            owners: owners.cloned(),
            ..options.duplicates.options()
        },
        memory,
        threads: threads(options.threads),
        scratch: options.scratch.clone(),
        force: options.force,
    }
}

/// Threads as told, or one per core.
pub(crate) fn threads(told: Option<u16>) -> usize {
    told.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Cause, advice and exit code of a failure. The cause names the input.
fn explain(input: &str, failure: &Failure) -> Complaint {
    let code = if failure.is_cancelled() {
        INTERRUPTED
    } else if failure.is_resource() {
        RESOURCES
    } else {
        FAILED
    };
    let cause = failure.to_string();
    let cause = if cause.contains(input) { cause } else { format!("{input}: {cause}") };
    (cause.replace(['\n', '\r'], " "), failure.advice(), code)
}

fn present(input: &str, outcome: &Outcome) {
    let place = outcome.place.display();
    if outcome.unchanged {
        let text = format!("{input}: in the lake already, nothing to do ({place}); --force replaces it\n");
        print(text.as_bytes());
    } else {
        print(summary::text(&outcome.run, &outcome.place).as_bytes());
    }
}

fn committed(input: String, outcome: Outcome) -> Report {
    let (path, run) = (outcome.place, Box::new(outcome.run));
    if outcome.unchanged { Report::Unchanged { input, path, run } } else { Report::Committed { input, path, run } }
}

fn run_man(command: Option<&str>) -> u8 {
    let mut cli = Cli::command();
    // Gives the commands their full names.
    cli.build();
    let page = match command {
        None => Some(&cli),
        Some(name) => cli.find_subcommand(name),
    };
    let Some(page) = page else {
        let cause = format!("there is no command {:?}", command.unwrap_or_default());
        return complain(&cause, "heaplake --help lists the commands", USAGE);
    };
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = clap_mangen::Man::new(page.clone()).render(&mut text);
    print(&text)
}

fn run_plan(options: &Plan) -> u8 {
    let input = match options.input.as_str() {
        "-" => Input::Stdin,
        path => Input::File(path.into()),
    };
    let cancel = AtomicBool::new(false);
    let memory = options.memory.map_or_else(default_budget, |size| size.0);
    let context = Context { budget: Budget::new(memory), threads: 1, progress: &Silent, cancel: &cancel };
    match promised(&input, &context) {
        Ok(heap) => {
            let wanted = Options { tables: options.tables.all(), ..options.duplicates.options() };
            let forecast = Forecast::new(&heap, memory, &wanted);
            if options.json { print_json(&forecast) } else { print(forecast.text(&input.name()).as_bytes()) }
        }
        Err(error) => complain(&error.to_string(), &error.advice(), FAILED),
    }
}

/// What the beginning of an input promises.
fn promised(input: &Input, context: &Context<'_>) -> Result<Heap, StageError> {
    let mut source = Source::open(input)?;
    let format = Format::of(source.peek(context)?);
    match format {
        Format::V8 => {
            let (nodes, edges) = read::peek(source, context)?;
            Ok(Heap { format, nodes, edges, estimated: false })
        }
        Format::Jvm => {
            let Estimate { nodes, edges, exact } = sample::estimate(input, source, context)?;
            Ok(Heap { format, nodes, edges, estimated: !exact })
        }
        Format::Dotnet => {
            let (nodes, edges) = dotnet::census::count(source, context)?;
            Ok(Heap { format, nodes, edges, estimated: false })
        }
    }
}

fn run_show(options: &Show) -> u8 {
    match commit::read(&options.run) {
        Ok(Some(run)) if options.json => print_json(&run),
        Ok(Some(run)) => print(summary::text(&run, &options.run).as_bytes()),
        Ok(None) => unanswered(&Unanswered::no_run(&options.run)),
        Err(error @ StageError::Scratch { .. }) => complain(&error.to_string(), "analyse the snapshot again", FAILED),
        Err(error) => failed(&error, FAILED),
    }
}

fn run_report(options: &Page) -> u8 {
    let run = match commit::read(&options.run) {
        Ok(Some(run)) => run,
        Ok(None) => return unanswered(&Unanswered::no_run(&options.run)),
        Err(error) => return failed(&error, FAILED),
    };
    let page = options.output.clone().unwrap_or_else(|| options.run.join(reports::FILE));
    let memory = options.memory.map_or_else(default_budget, |size| size.0);
    match reports::make(&run, &options.run, &page, memory, &AtomicBool::new(false)) {
        Ok(_) if options.quiet => 0,
        Ok(_) => print(format!("{}\n", page.display()).as_bytes()),
        Err(error) => failed(&error, FAILED),
    }
}

/// Says why a question to a run has no answer; the exit code.
fn unanswered(Unanswered { cause, advice, usage }: &Unanswered) -> u8 {
    complain(cause, advice, if *usage { USAGE } else { FAILED })
}

/// Says what failed outside of any input; the exit code, which is `otherwise` where memory and disk sufficed.
fn failed(error: &StageError, otherwise: u8) -> u8 {
    complain(&error.to_string(), &error.advice(), if error.is_resource() { RESOURCES } else { otherwise })
}

/// Prints an answer from a run's tables, or why there is none.
fn answered<T: Serialize>(answer: Result<T, Unanswered>, json: bool, text: impl Fn(&T) -> String) -> u8 {
    match answer {
        Ok(answer) if json => print_json(&answer),
        Ok(answer) => print(text(&answer).as_bytes()),
        Err(why) => unanswered(&why),
    }
}

/// One line of cause and one of what to do, on standard error.
fn complain(cause: &str, advice: &str, code: u8) -> u8 {
    let _ = writeln!(std::io::stderr(), "heaplake: {cause}\n  -> {advice}");
    code
}

/// Standard output; a reader that went away is no error.
fn print(text: &[u8]) -> u8 {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text).and_then(|()| out.flush());
    0
}

fn print_json(value: &impl Serialize) -> u8 {
    match serde_json::to_vec_pretty(value) {
        Ok(mut text) => {
            text.push(b'\n');
            print(&text)
        }
        Err(error) => complain(&error.to_string(), "report this as a bug", FAILED),
    }
}
