//! `heaplake report`: the HTML page of a run, of a comparison, of a trend or of a fleet.

use super::batch::stopped_by_signals;
use super::choices::budget;
use super::outputs;
use super::pages;
use crate::diagnostic::{Diagnostic, Done};
use crate::memory::Size;
use crate::print;
use clap::Args;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError, storage};
use heaplake_lake::{output_file, run_files, selection};
use heaplake_query::QueryError;
use heaplake_report as reports;
use heaplake_schemas::{comparison, rollup, series};
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html",
    after_long_help = "Example:\n  heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html\n  heaplake report diff -o diff.html\n  heaplake report lake/fleet\n\nThe page of a run shows what the run has: findings, the dominator tree, classes, chains, duplicates, times of stages. That of a comparison or a trend, a folder that heaplake diff or trend wrote, shows what grew, by how much, and through which holders. That of a rollup, a folder that heaplake fleet rollup wrote, shows releases over time, hosts by cluster, the worst rows and runs, with links to the pages of runs that have one."
)]
pub struct Arguments {
    /// Folder of a run, a comparison, a trend or a rollup
    #[arg(value_name = "FOLDER")]
    pub run: PathBuf,
    /// The page [default: report, diff, trend or fleet.html there]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory budget [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Makes the page.
pub fn run(arguments: &Arguments) -> Done {
    let has = |file: &str| storage::is_file(&arguments.run.join(file));
    let (memory, cancel) = (budget(arguments.memory), stopped_by_signals());
    outputs::check(&[("--output", arguments.output.as_deref())], Vec::new)?;
    let mut named = arguments.output.iter().filter(|page| !storage::is_url(page));
    named.try_for_each(|page| output_file::check_in_folder(page)).map_err(Diagnostic::of_usage)?;
    let page = |usual: &str| page(arguments, usual);
    let budget = Budget::new(memory.saturating_sub(FIXED_OVERHEAD));
    let context = Context { budget, threads: 1, progress: &Silent, cancel: &cancel };
    let page = if has(comparison::FILE) {
        let page = page(reports::comparison::FILE)?;
        steadily(&arguments.run.join(comparison::FILE), || reports::diff_page(&arguments.run, &page, &context))?;
        page
    } else if has(series::FILE) {
        let page = page(reports::trend::FILE)?;
        steadily(&arguments.run.join(series::FILE), || reports::trend_page(&arguments.run, &page, &context))?;
        page
    } else if has(rollup::FILE) {
        let page = page(reports::fleet::FILE)?;
        steadily(&arguments.run.join(rollup::FILE), || reports::fleet_page(&arguments.run, &page, &context))?;
        page
    } else {
        let page = page(reports::FILE)?;
        of_run(&arguments.run, &page, memory, &cancel)?;
        page
    };
    Ok(if arguments.quiet { 0 } else { print::text(&format!("{}\n", page.display())) })
}

/// Path of the page. At the default path, a file that heaplake did not write is an error.
fn page(arguments: &Arguments, usual: &str) -> Result<PathBuf, Diagnostic> {
    if let Some(named) = &arguments.output {
        return Ok(named.clone());
    }
    let page = arguments.run.join(usual);
    if storage::is_url(&page) || page.symlink_metadata().is_err() || run_files::is_page(&page) {
        return Ok(page);
    }
    let cause = format!("{}: heaplake did not write this file", page.display());
    Err(Diagnostic::usage(cause, "move it away, or name another file with --output"))
}

/// Maximum attempts at a page of files that are replaced meanwhile.
const TRIES: u32 = 20;

/// Makes the page of a run; again, if another run replaces it meanwhile.
fn of_run(place: &Path, page: &Path, memory: u64, cancel: &AtomicBool) -> Result<(), Diagnostic> {
    let mut tries = 0;
    loop {
        let found = selection::hold(place)?.ok_or_else(|| QueryError::no_run(place))?;
        let made = pages::put(page, None, |page| reports::make(&found.run, place, page, memory, cancel));
        tries += 1;
        if made.is_ok() || tries >= TRIES || found.is_current() {
            return made;
        }
    }
}

/// Makes a page; again, if the description of its contents was replaced meanwhile.
fn steadily(description: &Path, make: impl Fn() -> Result<(), StageError>) -> Result<(), StageError> {
    let identity = || metadata(description).map(|there| (there.ino(), there.len(), there.mtime_nsec())).ok();
    let mut tries = 0;
    loop {
        let before = identity();
        let made = make();
        tries += 1;
        if tries >= TRIES || identity() == before {
            return made;
        }
    }
}
