//! Input and output of every kernel.

use crate::contest::median;
use crate::files;
use crate::settings::Engine;
use anyhow::Result;
use clap::Args;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

/// Options of `kernels`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench kernels --save
  heaplake-bench kernels --shrink 20   (a twentieth of the work, to see that it runs)")]
pub(crate) struct Options {
    /// How often each kernel runs after the first time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) runs: u16,
    /// Divide the work by this
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) shrink: u32,
    #[command(flatten)]
    pub(super) engine: Engine,
}

impl Options {
    /// An amount of work, divided by `--shrink`.
    pub(super) fn amount(&self, full: usize) -> usize {
        full / self.shrink as usize
    }

    /// Median seconds of work that times its relevant part itself.
    pub(super) fn seconds(&self, mut work: impl FnMut() -> Result<f64>) -> Result<f64> {
        work()?;
        Ok(median((0..self.runs).map(|_| work()).collect::<Result<_>>()?))
    }
}

/// One line of the report.
pub(super) struct Timed {
    pub(super) name: &'static str,
    /// Amount of work, in millionths of the kernel's unit.
    pub(super) amount: f64,
    pub(super) seconds: f64,
    /// For a rival, heaplake's seconds for the same work.
    pub(super) own: Option<f64>,
}

/// Times a piece of work.
pub(super) fn clock<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

/// Scratch folder for columns, and the stages' context.
pub(super) struct Bench {
    pub(super) folder: TempDir,
    pub(super) scratch: Scratch,
    pub(super) budget: Budget,
    cancel: AtomicBool,
}

impl Bench {
    pub(super) fn new(memory: u64) -> Result<Self> {
        let folder = tempfile::tempdir_in(files::work()?)?;
        let scratch = Scratch::create(&folder.path().join("scratch"))?;
        Ok(Self { folder, scratch, budget: Budget::new(memory), cancel: AtomicBool::new(false) })
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context { budget: self.budget.clone(), threads: 1, progress: &Silent, cancel: &self.cancel }
    }
}
