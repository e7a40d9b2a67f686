//! `heaplake report`: the HTML page of a run, or of a comparison.

use super::choices::budget;
use super::show;
use crate::complaint::Done;
use crate::memory::Size;
use crate::print;
use clap::Args;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_report as reports;
use heaplake_schemas::comparison;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html",
    after_long_help = "Example:\n  heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html\n  heaplake report diff -o diff.html\n\nThe page of a run shows what the run has: findings, the dominator tree, classes, chains, duplicates, times of stages. That of a comparison, a folder that heaplake diff wrote, shows what grew, by how much and through which holders."
)]
pub struct Arguments {
    /// Folder of a run, or of a comparison
    #[arg(value_name = "RUN|DIFF")]
    pub run: PathBuf,
    /// The page [default: report.html or diff.html in the folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory that it may allocate [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Makes the page.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where there is no run, or the page cannot be made.
pub fn run(arguments: &Arguments) -> Done {
    let is_comparison = arguments.run.join(comparison::FILE).is_file();
    let usual = if is_comparison { reports::comparison::FILE } else { reports::FILE };
    let page = arguments.output.clone().unwrap_or_else(|| arguments.run.join(usual));
    let (memory, cancel) = (budget(arguments.memory), AtomicBool::new(false));
    if is_comparison {
        let budget = Budget::new(memory.saturating_sub(FIXED_OVERHEAD));
        let context = Context { budget, threads: 1, progress: &Silent, cancel: &cancel };
        reports::diff_page(&arguments.run, &page, &context)?;
    } else {
        reports::make(&show::read(&arguments.run)?, &arguments.run, &page, memory, &cancel)?;
    }
    Ok(if arguments.quiet { 0 } else { print::text(&format!("{}\n", page.display())) })
}
