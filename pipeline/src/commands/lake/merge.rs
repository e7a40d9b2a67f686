//! `heaplake lake merge`: copies or moves runs of other lakes into a lake.

use crate::commands::batch::{prepare, stopped_by_signals};
use crate::commands::cataloguing::Cataloguing;
use crate::commands::choices::Effort;
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::workplace;
use crate::print::{self, lake as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_kit::{Context, storage};
use heaplake_lake::hidden::Hidden;
use heaplake_lake::upkeep::merge::{self, Merged, Status};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake lake merge host1/lake host2/lake --out lake
  heaplake lake merge /mnt/usb/lake/release=2.4.1 --out lake --move

A SOURCE is a lake, a folder release=… of one, or the folder of a run. Files become hard links where that can be, else \
 copies; each is checked against its checksum in run.json, and a run appears in one step, whole or not at all. A run that \
 the lake has already is left out, one that has the name of another is refused, and the others go on. After a kill, the \
 same command goes on.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake lake merge host1/lake host2/lake --out lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// Lakes, folders of runs, or runs
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// The destination lake; created if missing
    #[arg(long, value_name = "LAKE")]
    out: PathBuf,
    /// Remove each run from its source once it is in the lake
    ///
    /// If the lake already has the run, that copy is checked first.
    #[arg(long = "move")]
    takes_away: bool,
    #[command(flatten)]
    effort: Effort,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Merges the runs. Failures of single runs are reported, not returned.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let Arguments { sources, out: lake, takes_away, .. } = arguments;
    let found = sources.iter().map(|source| merge::places(source, lake, *takes_away)).collect::<Result<Vec<_>, _>>();
    let places: Vec<PathBuf> = found.map_err(Diagnostic::of_usage)?.into_iter().flatten().collect();
    prepare(lake).map_err(Diagnostic::of_usage)?;
    workplace::sweep(lake, None);
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "lake");
    let (merged, done) = all(&places, arguments, &arguments.effort.context(&display, &cancel));
    let report = Report { runs: merged };
    if arguments.json {
        print::json(&report)?;
    } else if !arguments.quiet {
        print::answer(&report.runs, false, |runs, look| text::merged(runs, look))?;
    }
    done
}

/// Merged runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MergeReport")]
pub(crate) struct Report {
    runs: Vec<Merged>,
}

/// Merges the runs. A failure of one run is reported; one that would hit all others ends the merge.
fn all(places: &[PathBuf], arguments: &Arguments, context: &Context<'_>) -> (Vec<Merged>, Done) {
    let (mut merged, mut exit) = (Vec::new(), 0);
    let mut catalogue = Cataloguing::new(None);
    let lake = &arguments.out;
    let passing = if storage::is_url(lake) { Some(workplace::passing(None)) } else { None };
    let passing = match passing.transpose() {
        Ok(passing) => passing,
        Err(error) => return (merged, Err(error.into())),
    };
    let scratch = passing.as_ref().map_or(&**lake, Hidden::path);
    let done = merge::merge(places, (lake, scratch), arguments.takes_away, context, |run| {
        if let (Some(problem), Some(advice)) = (&run.problem, &run.advice) {
            exit = exit.max(Diagnostic::failed(problem, advice).tell());
        }
        if run.status == Status::Merged {
            catalogue.add_place(run.path.clone());
        }
        merged.push(run);
    });
    catalogue.write();
    (merged, done.map_or_else(|error| Err(error.into()), |()| Ok(exit)))
}
