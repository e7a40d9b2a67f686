//! Measures traces and Java dumps of extreme shapes: growth of time and memory, each run in a memory cgroup.

use crate::group::Group;
use crate::growth::{self, MOST_GROWTH, Settings};
use crate::machine;
use crate::report::Section;
use anyhow::Result;
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::trace_shapes::{self, SHAPES, Shape};
use std::path::PathBuf;

/// Bytes allowed beyond the budget.
const BEYOND: u64 = 48 << 20;

/// Options of `trace-shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench trace-shapes --save
  heaplake-bench trace-shapes --shapes levels,java-deep-stack --events 50000 --memory 256MiB")]
pub(crate) struct Options {
    /// Extreme events in the smallest file; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    events: u64,
    /// Names of shapes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    shapes: Vec<String>,
    /// Memory budget of the engine; its cgroup has 48 MiB more
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: Size,
    /// How often each file is read; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    save: bool,
}

/// Measures and reports; a shape that grows too fast is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = Section::new("trace-shapes", &machine::describe(&options.heaplake)?);
    let sizes = growth::sizes(options.events);
    let group = Group::create(options.memory.0 + BEYOND);
    if let Err(error) = &group {
        eprintln!("SKIPPED: the limit on memory, since there is no cgroup: {error:#}");
    }
    section.say(&format!(
        "Processor seconds for a million events of `replay --pprof --collapsed` and `analyze`, the fastest of {}, with a budget \
         of {} bytes{}, on files with {sizes:?} of what is extreme; growth is that of a doubling beyond n log n, at most \
         {MOST_GROWTH}.",
        options.runs,
        options.memory.0,
        if group.is_ok() { " in a memory cgroup of that and 48 MiB" } else { "" },
    ));
    let measured = |shape: &'static Shape| {
        let mut extra = vec![format!("--memory={}", options.memory.0)];
        if shape.command == "replay" {
            extra.extend(["--sample-interval=1", "--pprof", "--collapsed"].map(str::to_owned));
        }
        growth::Shape {
            name: shape.name,
            says: shape.says,
            ending: shape.ending,
            command: shape.command,
            options: extra,
            write: Box::new(|size, out| shape.write(size, out)),
        }
    };
    let shapes: Vec<_> =
        growth::chosen(&options.shapes, SHAPES, trace_shapes::find)?.into_iter().map(measured).collect();
    let group = group.ok();
    let settings = Settings { heaplake: &options.heaplake, sizes, runs: options.runs, group: group.as_ref() };
    growth::report(section, options.save, &shapes, &settings)
}
