//! Inner loops against the best known implementation and against the machine's limit.
//!
//! A kernel is a plain loop: one warm-up run, then the median of several. Kernels run one after the other on one thread
//! of one process, each right beside its rivals.

mod bench;
mod graph;
mod grouping;
mod parquet;
mod tokenise;

use crate::files;
use crate::report::{Section, number, ratio};
use anyhow::Result;
use bench::Timed;

pub(crate) use bench::Options;

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result<()> {
    files::work()?;
    let mut section = options.engine.section("kernels")?;
    section.say(&format!("Medians of {} runs, one thread.", options.runs));
    if options.shrink > 1 {
        section.say(&format!("**Only 1/{} of the usual work.**", options.shrink));
    }
    report(&mut section, "Numbers as V8 writes them, from text to integers", "MB/s", &tokenise::run(options)?);
    report(&mut section, "Pairs into groups by key", "million pairs/s", &grouping::run(options)?);
    report(&mut section, "From essential edges to dominators", "million nodes/s", &graph::run(options)?);
    report(&mut section, "Columns to a file, synced", "MB/s", &parquet::run(options)?);
    section.end(options.engine.save)
}

/// Adds the table of one kernel.
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
