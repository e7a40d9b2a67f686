//! What bounds the time of a run on many cores: the longest way through its stages, with the times that they took.

use crate::report::{Section, number};
use anyhow::{Context, Result, bail};
use clap::Args;
use heaplake::engine::critical_path::{bound, simulate};
use heaplake::engine::forecast;
use heaplake_ingest::{FORMATS, Format};
use heaplake_lake::commit;
use heaplake_lake::reader::Reader;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Numbers of threads that are simulated.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Options of `critical-path`.
#[derive(Args)]
#[command(after_help = "Example:\n  heaplake-bench critical-path lake/release=none/snapshot=Heap-1f0c9a77")]
pub struct Options {
    /// Folder of a run, made with one thread, so that stages did not slow each other down
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Write the section of benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Prints the bound.
///
/// # Errors
/// When there is no run.
pub fn run(options: &Options) -> Result<()> {
    let run = commit::read(&options.run)?.context("no run")?;
    let seconds = times(&options.run)?;
    // The stages of the run tell its format: the graph whose reader was timed.
    let graphs = FORMATS.into_iter().map(|format: &dyn Format| forecast::graph(format, &run.options));
    let Some(graph) = graphs.into_iter().find(|graph| seconds.contains_key(&graph.steps[0].name)) else {
        bail!("{}: not the analysis of a snapshot", options.run.display());
    };
    let bound = bound(&graph, &seconds);
    let name =
        Path::new(&run.source).file_name().map_or_else(|| run.source.clone().into(), |name| name.to_string_lossy());
    let mut section = Section::new("critical-path", &format!("Stages of {name}, {} nodes.", run.summary.node_count));
    let (work, span) = (number(Some(bound.work)), number(Some(bound.span)));
    section.say(&format!(
        "All stages one after the other: {work} s. The longest way through them: {span} s, {} of it. If no stage used more \
         than one thread, no number of threads would take less.",
        number(Some(bound.span / bound.work)),
    ));
    let rows = THREADS.map(|threads| {
        let simulated = simulate(&graph, &seconds, threads);
        [threads.to_string(), number(Some(simulated)), number(Some(bound.work / simulated))]
    });
    section.table(["threads", "s", "times faster"], &rows);
    section.say(&format!("The longest way: {}.", bound.path.join(", ")));
    section.end(options.save)
}

/// What each stage took, from the table of the snapshot.
fn times(run: &Path) -> Result<BTreeMap<String, f64>> {
    let table = Reader::open(&run.join(heaplake_schemas::snapshot::FILE))?;
    let mut batches = table.columns(&["stages"])?;
    let batch = batches.batch()?.context("no row")?;
    let stages = batch.elements("stages", 0)?;
    let (names, seconds) = (stages.texts("name")?, stages.f64s("seconds")?);
    Ok((0..seconds.len()).map(|row| (names.value(row).to_owned(), seconds.value(row))).collect())
}
