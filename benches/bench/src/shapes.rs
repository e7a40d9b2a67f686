//! Measures heaps of extreme shapes: growth of time and memory.

use crate::growth::{self, MOST_GROWTH, Settings};
use crate::machine;
use crate::report::Section;
use anyhow::Result;
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::shapes::{self, SHAPES, Shape};
use std::path::PathBuf;

/// Options of `shapes`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench shapes --save
  heaplake-bench shapes --shapes java-far,bipartite --nodes 250000 --memory 256MiB")]
pub(crate) struct Options {
    /// Nodes of the smallest heap; the others have twice and four times as many
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    nodes: u64,
    /// Names of shapes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    shapes: Vec<String>,
    /// Memory budget of the engine [default: its own]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// How often each heap is analysed; the fastest counts
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
    let mut section = Section::new("shapes", &machine::describe(&options.heaplake)?);
    let sizes = growth::sizes(options.nodes);
    let memory =
        options.memory.map_or_else(|| "its default budget".to_owned(), |size| format!("a budget of {} bytes", size.0));
    section.say(&format!(
        "Processor seconds for a million nodes of `analyze --duplicates all`, the fastest of {}, with {memory}, on heaps of \
         {sizes:?} nodes; growth is that of a doubling beyond n log n, at most {MOST_GROWTH}.",
        options.runs
    ));
    let mut extra = vec!["--duplicates=all".to_owned()];
    extra.extend(options.memory.map(|size| format!("--memory={}", size.0)));
    let measured = |shape: &'static Shape| growth::Shape {
        name: shape.name,
        says: shape.says,
        ending: shape.ending,
        command: "analyze",
        options: extra.clone(),
        write: Box::new(|size, mut out| shape.write(size, &mut out)),
    };
    let shapes: Vec<_> = growth::chosen(&options.shapes, SHAPES, shapes::find)?.into_iter().map(measured).collect();
    let settings = Settings { heaplake: &options.heaplake, sizes, runs: options.runs, group: None };
    growth::report(section, options.save, &shapes, &settings)
}
