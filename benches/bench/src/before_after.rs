//! Compares two builds of heaplake on the same inputs: the cost or gain of a change to the engine.

use crate::contest::{Entry, Outcome, hold};
use crate::files;
use crate::machine;
use crate::report::{Section, megabytes, number, ratio};
use anyhow::Result;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options of `before-after`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heaplake-bench before-after old/heaplake target/release/heaplake Heap.heapsnapshot"
)]
pub(crate) struct Options {
    /// The build of before
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The build of after
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Snapshots, and traces as replay:FILE
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<String>,
    /// How often each is run; medians count
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Write the section of benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures both builds, interleaved.
pub(crate) fn run(options: &Options) -> Result<()> {
    let heading = format!("{}\n\nMedians of {} runs, interleaved.", machine::describe(&options.new)?, options.runs);
    let mut section = Section::new("before-after", &heading);
    let mut rows = Vec::new();
    for input in &options.inputs {
        for threads in [1, 2] {
            let entry = |binary: &Path| entry(binary, input, threads);
            let [old, new] = [entry(&options.old)?, entry(&options.new)?];
            let outcomes = hold(&[old, new], options.runs, None)?;
            rows.push(row(input, threads, &outcomes));
        }
    }
    let head = [
        "input, threads",
        "CPU s before",
        "after",
        "times",
        "wall s before",
        "after",
        "times",
        "RSS MB before",
        "after",
    ];
    section.table(head, &rows);
    section.end(options.save)
}

fn entry(binary: &Path, input: &str, threads: u32) -> Result<Entry> {
    let (verb, file) = input.strip_prefix("replay:").map_or(("analyze", input), |file| ("replay", file));
    let lake = files::work()?.join("before-after");
    let (name, line) =
        (format!("{} {input}, {threads}", binary.display()), format!("@ {verb} @ --out @ --quiet --threads {threads}"));
    Ok(Entry::new(&name, &line, &[binary, Path::new(file), &lake], Some(&lake)))
}

fn row(input: &str, threads: u32, outcomes: &[Outcome]) -> [String; 9] {
    let name =
        Path::new(input).file_name().map_or_else(|| input.to_owned(), |name| name.to_string_lossy().into_owned());
    let of = |which: usize, what: fn(&Outcome) -> Option<f64>| outcomes.get(which).and_then(what);
    let times = |what: fn(&Outcome) -> Option<f64>| number(ratio(of(1, what), of(0, what)));
    [
        format!("{name}, {threads}"),
        number(of(0, Outcome::cpu)),
        number(of(1, Outcome::cpu)),
        times(Outcome::cpu),
        number(of(0, Outcome::wall)),
        number(of(1, Outcome::wall)),
        times(Outcome::wall),
        megabytes(of(0, Outcome::rss)),
        megabytes(of(1, Outcome::rss)),
    ]
}
