//! `heaplake track`: which object was at an address at some moment, and what became of it.

use crate::complaint::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::track::{self, Spot};
use std::path::PathBuf;

/// Arguments of `track`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  heaplake replay agent.log --out lake --snapshot agent --tracks
  heaplake track lake/release=none/snapshot=agent 7f47b6800498@3
  heaplake track lake/release=none/snapshot=app 0x7f47b6800498@12.5s")]
pub struct Arguments {
    /// Folder of a run that was replayed with --tracks
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Address (hexadecimal, anywhere inside the object), and when: after collection N (0: before the first), or so many
    /// seconds after the first collection began (12.5s)
    #[arg(value_name = "ADDRESS@TIME")]
    pub at: Spot,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the answer.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where there is none.
pub fn run(arguments: &Arguments) -> Done {
    let found = track::find(&arguments.run, arguments.at)?;
    print::answer(&found, arguments.json, answers::track)
}
