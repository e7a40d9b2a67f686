//! `heaplake plan`: what an analysis would take.

use super::choices::{Chosen, DuplicateOptions, Trust, budget};
use crate::complaint::Done;
use crate::engine::forecast::{self, Forecast, Heap};
use crate::engine::picture::{self, Language};
use crate::inputs::{self, Wanted};
use crate::memory::Size;
use crate::print;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heaplake_ingest::Estimate;
use heaplake_input::source::{Input, Opened, Source};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_schemas::options::{AnalysisOptions, Options};
use std::sync::atomic::AtomicBool;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake plan Heap.heapsnapshot --memory 512MiB",
    after_long_help = "Examples:\n  heaplake plan Heap.heapsnapshot\n  heaplake plan Heap.heapsnapshot.zst --memory 512MiB --edges\n  heaplake plan Heap.heapsnapshot --graph dot | dot -Tsvg > stages.svg"
)]
pub struct Arguments {
    /// The snapshot, or - for standard input
    ///
    /// Only its beginning is read.
    #[arg(value_name = "FILE")]
    pub input: String,
    /// Memory that the analysis may allocate [default: a quarter]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// The tables
    #[command(flatten)]
    pub tables: Chosen,
    /// What to do about duplicates
    #[command(flatten)]
    pub duplicates: DuplicateOptions,
    /// What is believed of inputs
    #[command(flatten)]
    pub trust: Trust,
    /// Print the graph of the stages instead, as mermaid or dot
    ///
    /// It shows which stage waits for which.
    #[arg(long, value_name = "LANGUAGE", hide_possible_values = true, num_args = 0..=1, default_missing_value = "mermaid", value_parser = language())]
    pub graph: Option<Language>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the plan, or the graph of the stages.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where the input cannot be read.
pub fn run(arguments: &Arguments) -> Done {
    let input = match arguments.input.as_str() {
        "-" => Input::Stdin,
        path => Input::File(path.into()),
    };
    let cancel = AtomicBool::new(false);
    let memory = budget(arguments.memory);
    let context = Context { budget: Budget::new(memory), threads: 1, progress: &Silent, cancel: &cancel };
    let options = AnalysisOptions { tables: arguments.tables.of(&input), ..arguments.duplicates.options() };
    let options = Options::Analysis(options);
    let mut source = Source::open(&input)?.allowing_bombs(arguments.trust.allow_bomb);
    let beginning = source.peek(&context)?;
    inputs::check(&input.name(), beginning, Wanted::Snapshots)?;
    let format = heaplake_ingest::of(beginning);
    if let Some(language) = arguments.graph {
        return Ok(print::text(&picture::draw(&forecast::graph(format, &options), language)));
    }
    let Estimate { nodes, edges, exact } = format.estimate(Opened { input: input.clone(), source }, &context)?;
    let forecast = Forecast::new(&Heap { format, nodes, edges, estimated: !exact }, memory, &options);
    print::answer(&forecast, arguments.json, |forecast, look| print::plan::text(forecast, &input.name(), look))
}

fn language() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::name))
        .map(|name| Language::ALL.into_iter().find(|language| language.name() == name).unwrap_or(Language::Mermaid))
}
