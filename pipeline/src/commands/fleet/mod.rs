//! `heaplake fleet`: what concerns all runs of a lake together.

pub mod analyze;
pub mod rollup;

use crate::complaint::Done;
use clap::{Args, Subcommand};

const EXAMPLE: &str = "Example: heaplake fleet rollup lake --by release,label.region";

/// Arguments of `fleet`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub struct Arguments {
    /// What to do with it
    #[command(subcommand)]
    pub verb: Verb,
}

/// What can be done with a fleet.
#[derive(Subcommand, Clone, Debug)]
pub enum Verb {
    /// Analyse snapshots on a Ray cluster, one task for each
    Analyze(Box<analyze::Arguments>),
    /// Sum up all runs of a lake, and find those with the same leak
    Rollup(Box<rollup::Arguments>),
}

/// Does it.
///
/// # Errors
/// Those of the verb.
pub fn run(arguments: &Arguments) -> Done {
    match &arguments.verb {
        Verb::Analyze(arguments) => analyze::run(arguments),
        Verb::Rollup(arguments) => rollup::run(arguments),
    }
}
