//! `heaplake fleet`: commands over all runs of a lake.

pub mod analyze;
pub mod rollup;

use crate::diagnostic::Done;
use clap::{Args, Subcommand};

const EXAMPLE: &str = "Example: heaplake fleet rollup lake --by release,label.region";

/// Arguments of `fleet`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// Subcommand
    #[command(subcommand)]
    pub verb: Verb,
}

/// Subcommands of `fleet`.
#[derive(Subcommand, Clone, Debug)]
pub enum Verb {
    /// Analyse snapshots on a Ray cluster, one task for each
    Analyze(Box<analyze::Arguments>),
    /// Sum up all runs of a lake, and find those with the same leak
    Rollup(Box<rollup::Arguments>),
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Done {
    match &arguments.verb {
        Verb::Analyze(arguments) => analyze::run(arguments),
        Verb::Rollup(arguments) => rollup::run(arguments),
    }
}
