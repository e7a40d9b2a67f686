//! Runs whole analyses and replays in this process.

pub(crate) use crate::fast_folder::fast_folder as folder;
use heaplake::diagnostic::{Diagnostic, Exit};
use heaplake::engine::admission::smallest_budget;
use heaplake::engine::request::{Outcome, Request, Resume};
use heaplake::engine::run_executor;
use heaplake::progress::Mode;
use heaplake_input::source::Input;
use heaplake_kit::StageError;
use heaplake_schemas::options::{AnalysisOptions, BigClasses, Duplicates, Options, Recording, ReplayOptions};
use heaplake_schemas::options::{Tables, TraceTable};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Length of an outcome, characters.
const SHOWN: usize = 200;

/// Every table, chains of all classes, all duplicates.
pub(crate) fn everything() -> AnalysisOptions {
    let big = BigClasses { min_retained: Some(0), ..BigClasses::default() };
    AnalysisOptions { tables: Tables::all(), big, duplicates: Duplicates::All, ..AnalysisOptions::default() }
}

/// Analyses bytes as a file of this name.
pub(crate) fn analyze(name: &str, data: &[u8], options: AnalysisOptions) -> String {
    of_file(name, data, &Options::Analysis(options))
}

/// Replays bytes as a file of this name.
pub(crate) fn replay(name: &str, data: &[u8]) -> String {
    let tables = TraceTable::ALL.into_iter().collect();
    let recording = Recording { sample_interval: 2, tables, pprof: true, collapsed: true, ..Recording::default() };
    of_file(name, data, &Options::Replay(ReplayOptions { recording, ..ReplayOptions::default() }))
}

fn of_file(name: &str, data: &[u8], options: &Options) -> String {
    let folder = folder();
    let (path, lake) = (folder.path().join(name), folder.path().join("lake"));
    fs::write(&path, data).unwrap();
    let outcome = make(&path, &lake, options, 1 + data.len() % 2);
    judged(&outcome, &path, &lake)
}

/// Makes the run of a file, with the smallest budget.
pub(crate) fn make(path: &Path, lake: &Path, options: &Options, threads: usize) -> Result<Outcome, Diagnostic> {
    let request = Request {
        hash: None,
        input: Input::File(path.to_owned()),
        lake: lake.to_owned(),
        release: "none".to_owned(),
        snapshot: Some("it".to_owned()),
        options: options.clone(),
        memory: smallest_budget(),
        threads,
        scratch: None,
        resume: Resume::Auto,
        force: true,
        allow_bomb: false,
    };
    run_executor::make(&request, Mode::Quiet, &AtomicBool::new(false))
}

/// Checks the result of a run and describes it briefly.
pub(crate) fn judged(outcome: &Result<Outcome, Diagnostic>, path: &Path, lake: &Path) -> String {
    match outcome {
        Ok(outcome) => {
            assert!(outcome.place.join("run.json").exists(), "a run without run.json");
            let summary = &outcome.run.summary;
            let of = |count: u64| count.checked_ilog2().unwrap_or(0);
            let partial = summary.partial.as_deref().map_or("whole", |_| "partial");
            format!("run of 2^{} nodes, 2^{} edges, {partial}", of(summary.node_count), of(summary.edge_count))
        }
        Err(diagnostic) => {
            let left: Vec<_> = fs::read_dir(lake).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            assert!(left.is_empty(), "refused, but left behind: {left:?}");
            if let Some(StageError::Input(_)) = diagnostic.error.as_deref() {
                assert!(diagnostic.cause.contains(&path.display().to_string()), "no file named: {}", diagnostic.cause);
            }
            refused(diagnostic)
        }
    }
}

/// Describes a diagnostic briefly, after checking that the input can be its cause.
pub(crate) fn refused(diagnostic: &Diagnostic) -> String {
    use StageError::{Budget, Input, Overflow, Plan};
    let of_input = matches!(diagnostic.error.as_deref(), Some(Input(_) | Budget { .. } | Plan { .. } | Overflow(_)));
    assert!(of_input, "not the input's fault? {diagnostic}: {:?}", diagnostic.error);
    assert!(diagnostic.exit != Exit::Interrupted, "interrupted? {diagnostic}");
    told(diagnostic)
}

/// Describes a diagnostic briefly, after checking its form.
pub(crate) fn told(diagnostic: &Diagnostic) -> String {
    assert!(diagnostic.cause.lines().count() == 1, "not one line of cause: {:?}", diagnostic.cause);
    assert!(diagnostic.advice.lines().count() == 1, "not one line of advice: {:?}", diagnostic.advice);
    without_numbers(&diagnostic.cause)
}

fn without_numbers(text: &str) -> String {
    let words = text.split(' ').filter(|word| !word.contains('/') && !word.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect()
}
