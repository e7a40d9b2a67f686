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

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html",
    after_long_help = "Example:\n  heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html\n  heaplake report diff -o diff.html\n  heaplake report lake/fleet\n\nThe page of a run shows what the run has: findings, the dominator tree, classes, chains, duplicates, times of stages. That of a comparison or a trend, a folder that heaplake diff or trend wrote, shows what grew, by how much, and through which holders. That of a rollup, a folder that heaplake fleet rollup wrote, shows releases over time, hosts by cluster, the worst rows and runs, with links to the pages of runs that have one."
)]
pub(crate) struct Arguments {
    /// Folder of a run, a comparison, a trend or a rollup
    #[arg(value_name = "FOLDER")]
    run: PathBuf,
    /// The page [default: report, diff, trend or fleet.html there]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Memory budget [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

type Make = fn(&Path, &Path, &Context<'_>) -> Result<(), StageError>;

/// Folders with a page other than runs: description, name of the page, and its maker.
const KINDS: [(&str, &str, Make); 3] = [
    (comparison::FILE, reports::comparison::FILE, reports::diff_page),
    (series::FILE, reports::trend::FILE, reports::trend_page),
    (rollup::FILE, reports::fleet::FILE, reports::fleet_page),
];

/// Makes the page.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let (memory, cancel) = (budget(arguments.memory), stopped_by_signals());
    outputs::check(&[("--output", arguments.output.as_deref())], Vec::new)?;
    let mut named = arguments.output.iter().filter(|page| !storage::is_url(page));
    named.try_for_each(|page| output_file::check_in_folder(page)).map_err(Diagnostic::of_usage)?;
    let budget = Budget::new(memory.saturating_sub(FIXED_OVERHEAD));
    let context = Context { budget, threads: 1, progress: &Silent, cancel: &cancel };
    let kind = KINDS.iter().find(|(description, ..)| storage::is_file(&arguments.run.join(description)));
    let page = page(arguments, kind.map_or(reports::FILE, |(_, usual, _)| usual))?;
    match kind {
        Some((description, _, make)) => {
            steadily(&arguments.run.join(description), || make(&arguments.run, &page, &context))?;
        }
        None => of_run(&arguments.run, &page, memory, &cancel)?,
    }
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
        if made.is_ok() || tries >= TRIES || found.found.is_current() {
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
