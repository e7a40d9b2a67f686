//! Measures inputs of extreme shapes: growth of time and memory. Traces run in a memory cgroup.

use crate::group::Group;
use crate::growth::{self, MOST_GROWTH, Settings};
use crate::settings::Engine;
use anyhow::Result;
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::shapes::{self, Shape};
use heaplake_generator::trace_shapes;

/// Bytes allowed beyond the budget.
const BEYOND: u64 = 48 << 20;

/// Options of `shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench shapes --save
  heaplake-bench shapes --shapes java-far,bipartite --nodes 250000 --memory 256MiB")]
pub(crate) struct Heaps {
    /// Nodes of the smallest heap; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    nodes: u64,
    /// Memory budget of the engine [default: its own]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    #[command(flatten)]
    common: Common,
}

/// Options of `trace-shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench trace-shapes --save
  heaplake-bench trace-shapes --shapes levels,java-deep-stack --events 50000 --memory 256MiB")]
pub(crate) struct Traces {
    /// Extreme events in the smallest file; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    events: u64,
    /// Memory budget of the engine; its cgroup has 48 MiB more
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    memory: Size,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    /// Names of shapes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    shapes: Vec<String>,
    /// How often each file is read; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    #[command(flatten)]
    engine: Engine,
}

/// Measures and reports heaps; a shape that grows too fast is an error.
pub(crate) fn heaps(options: &Heaps) -> Result<()> {
    let common = &options.common;
    let mut section = common.engine.section("shapes")?;
    let sizes = growth::sizes(options.nodes);
    let memory =
        options.memory.map_or_else(|| "its default budget".to_owned(), |size| format!("a budget of {} bytes", size.0));
    section.say(&format!(
        "Processor seconds for a million nodes of `analyze --duplicates all`, the fastest of {}, with {memory}, on heaps of \
         {sizes:?} nodes; growth is that of a doubling beyond n log n, at most {MOST_GROWTH}.",
        common.runs
    ));
    let words = |_: &Shape| {
        let memory = options.memory.map_or_else(String::new, |size| format!(" --memory={}", size.0));
        format!("--duplicates=all{memory}")
    };
    let settings = Settings { heaplake: &common.engine.heaplake, sizes, runs: common.runs, group: None, words: &words };
    let shapes = growth::chosen(&common.shapes, shapes::SHAPES)?;
    growth::report(section, common.engine.save, &shapes, &settings)
}

/// Measures and reports traces and dumps; a shape that grows too fast is an error.
pub(crate) fn traces(options: &Traces) -> Result<()> {
    let common = &options.common;
    let mut section = common.engine.section("trace-shapes")?;
    let sizes = growth::sizes(options.events);
    let group = Group::create(options.memory.0 + BEYOND);
    if let Err(error) = &group {
        eprintln!("SKIPPED: the limit on memory, since there is no cgroup: {error:#}");
    }
    section.say(&format!(
        "Processor seconds for a million events of `replay --pprof --collapsed` and `analyze`, the fastest of {}, with a budget \
         of {} bytes{}, on files with {sizes:?} of what is extreme; growth is that of a doubling beyond n log n, at most \
         {MOST_GROWTH}.",
        common.runs,
        options.memory.0,
        if group.is_ok() { " in a memory cgroup of that and 48 MiB" } else { "" },
    ));
    let words = |shape: &Shape| {
        let outputs = if shape.command == "replay" { " --sample-interval=1 --pprof --collapsed" } else { "" };
        format!("--memory={}{outputs}", options.memory.0)
    };
    let group = group.ok();
    let settings =
        Settings { heaplake: &common.engine.heaplake, sizes, runs: common.runs, group: group.as_ref(), words: &words };
    let shapes = growth::chosen(&common.shapes, trace_shapes::SHAPES)?;
    growth::report(section, common.engine.save, &shapes, &settings)
}
