//! `heaplake report`: the HTML page of a run.

use super::choices::budget;
use super::show;
use crate::complaint::Done;
use crate::memory::Size;
use crate::print;
use clap::Args;
use heaplake_report as reports;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html",
    after_long_help = "Example:\n  heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html\n\nThe page shows what the run has: findings, the dominator tree, classes, chains, duplicates, times of stages."
)]
pub struct Arguments {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The page [default: report.html in the run's folder]
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
    let run = show::read(&arguments.run)?;
    let page = arguments.output.clone().unwrap_or_else(|| arguments.run.join(reports::FILE));
    reports::make(&run, &arguments.run, &page, budget(arguments.memory), &AtomicBool::new(false))?;
    Ok(if arguments.quiet { 0 } else { print::text(&format!("{}\n", page.display())) })
}
