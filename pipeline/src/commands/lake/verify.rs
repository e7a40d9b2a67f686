//! `heaplake lake verify`: checks the runs of a lake for damage.

use crate::commands::batch::stopped_by_signals;
use crate::commands::choices::Effort;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::print::{self, lake as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_lake::upkeep::choice::{refuse_other, refuse_run};
use heaplake_lake::upkeep::verify::{Status, verify};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake verify lake
  heaplake lake verify lake --json | jq -r '.runs[] | select(.status == \"damaged\") | .path'

Of each run, run.json must fit its seal, and each table its checksum (XXH3-64), size, rows and schema version in run.json. \
 Each file that is not what was written is a line: what was expected, what was found, what to do. Then the exit code is 1. \
 Runs of older versions have no checksums: of these, size, rows and schema version are checked, and their number is told. \
 Nothing is changed or removed. What belongs to no run is named, and is no damage: folders that killed commands left, and \
 in an object store the objects of others.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake verify lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    #[command(flatten)]
    effort: Effort,
    /// Print damage only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Checks the lake and prints the damage; fails if the lake cannot be read.
pub(crate) fn run(arguments: &Arguments) -> Done {
    refuse_run(&arguments.lake).and_then(|()| refuse_other(&arguments.lake)).map_err(Diagnostic::of_usage)?;
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "lake");
    let verified = verify(&arguments.lake, &arguments.effort.context(&display, &cancel))?;
    print::answer(&verified, arguments.json, |verified, look| text::verified(verified, arguments.quiet, look))?;
    Ok(if verified.count(Status::Damaged) > 0 { Exit::Failed as u8 } else { 0 })
}
