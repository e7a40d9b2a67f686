//! `heaplake track`: the object at an address at some moment, and its fate.

use super::choices::run_named;
use crate::diagnostic::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::track::{self, Spot};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake track lake/release=none/snapshot=agent 7f47b6800498@3",
    after_long_help = "\
Examples:
  heaplake replay agent.log --out lake --snapshot agent --tracks
  heaplake track lake/release=none/snapshot=agent 7f47b6800498@3
  heaplake track lake/release=none/snapshot=app 0x7f47b6800498@12.5s"
)]
pub(crate) struct Arguments {
    /// Folder of a run that was replayed with --tracks, or LAKE/NAME
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// An address, and when: after collection N, or seconds (12.5s)
    ///
    /// The address is hexadecimal, anywhere inside the object. The time is the number of a garbage collection (3: after
    /// the third, 0: before the first), or seconds since the first collection began.
    #[arg(value_name = "ADDRESS@TIME")]
    at: Spot,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let found = track::find(&arguments.run, arguments.at)?;
    print::answer(&found, arguments.json, answers::track)
}
