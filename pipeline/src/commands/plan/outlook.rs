//! Forecast of an input from its beginning.

use super::arguments::Arguments;
use crate::commands::choices::budget;
use crate::diagnostic::Diagnostic;
use crate::engine::forecast::{self, Forecast, Heap};
use crate::engine::picture::{self, Language};
use crate::inputs::{self, Wanted};
use heaplake_ingest::{Estimate, Format};
use heaplake_input::source::{Input, Opened, Source};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_schemas::options::{AnalysisOptions, Options};
use std::sync::atomic::AtomicBool;

/// Computes the forecast of an input.
pub(super) fn forecast(input: &Input, arguments: &Arguments) -> Result<Forecast, Diagnostic> {
    let cancel = AtomicBool::new(false);
    let memory = budget(arguments.memory);
    let context = Context { budget: Budget::new(memory), threads: 1, progress: &Silent, cancel: &cancel };
    let (format, source) = opened(input, arguments, &context)?;
    let Estimate { nodes, edges, exact } = format.estimate(Opened { input: input.clone(), source }, &context)?;
    Ok(Forecast::new(&Heap { format, nodes, edges, estimated: !exact }, memory, &options(input, arguments)))
}

/// Draws the graph of its stages.
pub(super) fn graph(input: &Input, arguments: &Arguments, language: Language) -> Result<String, Diagnostic> {
    let cancel = AtomicBool::new(false);
    let context =
        Context { budget: Budget::new(budget(arguments.memory)), threads: 1, progress: &Silent, cancel: &cancel };
    let (format, _) = opened(input, arguments, &context)?;
    Ok(picture::draw(&forecast::graph(format, &options(input, arguments)), language))
}

/// Opens an input, reads its beginning and recognises its format.
fn opened(
    input: &Input,
    arguments: &Arguments,
    context: &Context<'_>,
) -> Result<(&'static dyn Format, Source), Diagnostic> {
    let source = Source::open_with(input, context.threads, &context.budget)?;
    let mut source = source.allowing_bombs(arguments.trust.allow_bomb);
    let beginning = source.peek(context)?;
    inputs::check(&input.name(), beginning, Wanted::Snapshots)?;
    Ok((heaplake_ingest::of(beginning), source))
}

fn options(input: &Input, arguments: &Arguments) -> Options {
    Options::Analysis(AnalysisOptions { tables: arguments.tables.of(input), ..arguments.duplicates.options() })
}
