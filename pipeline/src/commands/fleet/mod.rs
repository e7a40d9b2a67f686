//! `heaplake fleet`: commands over all runs of a lake.

pub mod analyze;
pub mod rollup;

use crate::diagnostic::Done;
use clap::{Args, Subcommand};

const EXAMPLE: &str = "Example: heaplake fleet rollup lake --since 14d --by release,label.region";

#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    /// Analyse snapshots on a Ray cluster, one task for each
    Analyze(Box<analyze::Arguments>),
    /// Sum up the runs of a lake, and find those with the same leak
    Rollup(Box<rollup::Arguments>),
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    match &arguments.verb {
        Verb::Analyze(arguments) => analyze::run(arguments),
        Verb::Rollup(arguments) => rollup::run(arguments),
    }
}
