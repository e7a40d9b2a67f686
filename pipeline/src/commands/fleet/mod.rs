//! `heaplake fleet`: what concerns all runs of a lake together.

pub mod rollup;

use crate::complaint::Done;
use clap::Subcommand;

/// What can be done with a fleet.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Sum up all runs of a lake: what is how large on how many hosts, and which runs have the same leak
    Rollup(Box<rollup::Arguments>),
}

/// Does it.
///
/// # Errors
/// Those of the command.
pub fn run(command: &Command) -> Done {
    match command {
        Command::Rollup(arguments) => rollup::run(arguments),
    }
}
