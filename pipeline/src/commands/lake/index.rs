//! `heaplake lake index`: writes the catalogue of a lake anew.

use crate::commands::batch::stopped_by_signals;
use crate::commands::choices::Effort;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::engine::workplace;
use crate::print::{self, lake as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_kit::storage;
use heaplake_lake::catalogue;
use heaplake_lake::upkeep::choice::{refuse_other, refuse_run};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake index lake
  rsync -a host1:/var/lake/ lake/ && heaplake lake index lake

The catalogue is a copy of what the run.json of each run says, for commands that read many runs: ls, diff, trend, rollup, \
 sql. A run that it lacks, or that was replaced since, is read from its run.json, so a lake without a catalogue works, \
 slower. analyze, replay and merge add their runs; this command writes it anew, for a lake that an older version or \
 another program wrote, and removes what it says of dropped runs.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake index lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    #[command(flatten)]
    effort: Effort,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Writes the catalogue. Runs that cannot be read are named, and the others are in it.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let lake = &arguments.lake;
    refuse_run(lake).and_then(|()| refuse_other(lake)).map_err(Diagnostic::of_usage)?;
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "lake");
    let passing = if storage::is_url(lake) { Some(workplace::passing(None)?) } else { None };
    let scratch = passing.as_ref().map_or(lake.as_path(), |passing| passing.path());
    let indexed = catalogue::index(lake, scratch, &arguments.effort.context(&display, &cancel))?;
    if arguments.json || !arguments.quiet {
        print::answer(&indexed, arguments.json, text::indexed)?;
    }
    let mut code = 0;
    for (path, problem) in &indexed.left_out {
        let cause = format!("{}: {problem}", path.display());
        code = Diagnostic::failed(cause, "heaplake lake verify says more").tell().max(Exit::Failed as u8);
    }
    Ok(code)
}
