//! Runs analyses in this process, which is faster for thousands of small inputs.

use heaplake::diagnostic::Diagnostic;
use heaplake::engine::admission::smallest_budget;
use heaplake::engine::request::{Outcome, Request, Resume};
use heaplake::engine::run_executor;
use heaplake::progress::Mode;
use heaplake_input::source::Input;
use heaplake_schemas::options::{AnalysisOptions, BigClasses, Options, Tables};
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub struct Analysis {
    pub options: AnalysisOptions,
    pub memory: u64,
    pub threads: usize,
}

impl Default for Analysis {
    /// All tables, chains of all classes, the smallest budget, two threads.
    fn default() -> Self {
        let big = BigClasses { min_retained: Some(0), ..BigClasses::default() };
        let options = AnalysisOptions { tables: Tables::all(), big, ..AnalysisOptions::default() };
        Self { options, memory: smallest_budget(), threads: 2 }
    }
}

/// Analyses a file into a lake as the snapshot `it`, replacing an earlier run.
pub fn analyze(lake: &Path, input: &Path, analysis: Analysis) -> Result<Outcome, Diagnostic> {
    let request = Request {
        input: Input::File(input.to_owned()),
        lake: lake.to_owned(),
        release: "none".to_owned(),
        snapshot: Some("it".to_owned()),
        hash: None,
        options: Options::Analysis(analysis.options),
        memory: analysis.memory,
        threads: analysis.threads,
        scratch: None,
        resume: Resume::Auto,
        force: true,
        allow_bomb: false,
    };
    run_executor::make(&request, Mode::Quiet, &AtomicBool::new(false))
}
