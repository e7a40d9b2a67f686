//! Inner loops, each against the best that is known for its work and against what the machine can do at all.
//!
//! A kernel is a plain loop: one run to warm up, then the median of several. They run one after the other in one process
//! on one thread, and what a kernel is compared with runs right beside it.

mod graph;
mod grouping;
mod parquet;
mod tokenise;

use crate::contest::median;
use crate::files;
use crate::machine;
use crate::report::{Section, number, ratio};
use anyhow::Result;
use clap::Args;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

/// Options of `kernels`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench kernels --save
  heaplake-bench kernels --shrink 20   (a twentieth of the work, to see that it runs)")]
pub struct Options {
    /// How often each kernel runs after the first time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Divide the work by this
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    shrink: u32,
    /// The engine's binary, for its version
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

impl Options {
    /// An amount of work, divided as asked.
    fn amount(&self, full: usize) -> usize {
        full / self.shrink as usize
    }

    /// Median seconds of some work that says itself how long the part that counts took.
    fn seconds(&self, mut work: impl FnMut() -> Result<f64>) -> Result<f64> {
        work()?;
        Ok(median((0..self.runs).map(|_| work()).collect::<Result<_>>()?))
    }
}

/// One line of the report.
struct Timed {
    name: &'static str,
    /// How much work there was, in millionths of the unit of the kernel.
    amount: f64,
    seconds: f64,
    /// Seconds that heaplake takes for the same work, for what is held against it.
    own: Option<f64>,
}

/// Times a piece of work.
fn clock<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

/// Measures, and reports.
///
/// # Errors
/// When a kernel fails or the report cannot be written.
pub fn run(options: &Options) -> Result<()> {
    files::work()?;
    let mut section = Section::new("kernels", &machine::describe(&options.heaplake)?);
    section.say(&format!("Medians of {} runs, one thread.", options.runs));
    if options.shrink > 1 {
        section.say(&format!("**Only 1/{} of the usual work.**", options.shrink));
    }
    report(&mut section, "Numbers as V8 writes them, from text to integers", "MB/s", &tokenise::run(options)?);
    report(&mut section, "Pairs into groups by key", "million pairs/s", &grouping::run(options)?);
    report(&mut section, "From essential edges to dominators", "million nodes/s", &graph::run(options)?);
    report(&mut section, "Columns to a file, synced", "MB/s", &parquet::run(options)?);
    section.end(options.save)
}

/// A table of one kernel.
fn report(section: &mut Section, title: &str, unit: &str, lines: &[Timed]) {
    let rows: Vec<_> = lines
        .iter()
        .map(|line| {
            let seconds = Some(line.seconds);
            let rate = ratio(Some(line.amount / 1e6), seconds);
            [line.name.to_owned(), number(seconds), number(rate), number(ratio(line.own, seconds))]
        })
        .collect();
    section.say(&format!("### {title}"));
    section.table(["", "s", unit, "times heaplake's"], &rows);
}

/// A place for columns, and what stages are given.
struct Bench {
    folder: TempDir,
    scratch: Scratch,
    budget: Budget,
    cancel: AtomicBool,
}

impl Bench {
    /// With this much memory.
    fn new(memory: u64) -> Result<Self> {
        let folder = tempfile::tempdir_in(files::work()?)?;
        let scratch = Scratch::create(&folder.path().join("scratch"))?;
        Ok(Self { folder, scratch, budget: Budget::new(memory), cancel: AtomicBool::new(false) })
    }

    fn context(&self) -> Context<'_> {
        Context { budget: self.budget.clone(), threads: 1, progress: &Silent, cancel: &self.cancel }
    }
}
