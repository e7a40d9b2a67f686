//! `heaplake lake ls`, or `heaplake ls`: the runs of a lake.

use super::choosing::{Choosing, Period};
use crate::diagnostic::{Diagnostic, Done};
use crate::log;
use crate::print::{self, list};
use clap::Args;
use heaplake_lake::upkeep::choice::refuse_run;
use heaplake_lake::upkeep::list::{self as runs, Extent};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake ls lake
  heaplake ls lake --release '2.4.*' --label 'host=web*' --since 7d
  heaplake ls lake --json | jq '.runs[] | select(.findings.high > 0) | .path'

A run is listed with its release, name, format, when its input was captured (UTC), objects and size of the heap (of a \
 trace: what was allocated), size on disk, labels where some run has any, and findings by severity. PARTIAL marks the \
 analysis of a damaged input. What is damaged in the lake itself is named below the runs and does not stop the list. A \
 lake without runs is no error; a release or a label that no run has is one. heaplake lake ls is the same command.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake ls lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    lake: PathBuf,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    period: Period,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// With --json: add versions, source, sizes and tables of each run, as `details`
    #[arg(long, requires = "json", help_heading = "Output")]
    details: bool,
    /// With --json: add the run.json of each run, as `description`
    #[arg(long, requires = "json", help_heading = "Output")]
    descriptions: bool,
}

/// Prints the list, which includes damaged runs.
pub(crate) fn run(arguments: &Arguments) -> Done {
    refuse_run(&arguments.lake).map_err(Diagnostic::of_usage)?;
    let choice = arguments.period.choice(&arguments.choosing);
    let extent = Extent { details: arguments.details, descriptions: arguments.descriptions };
    let listing = runs::list(&arguments.lake, &choice, extent)?;
    if let Some(unmet) = &listing.unmet {
        let cause = format!("{}: {unmet}", arguments.lake.display());
        return Err(Diagnostic::usage(cause, "heaplake ls LAKE lists all runs"));
    }
    if listing.runs.is_empty() && !choice.is_empty() {
        // Distinguishes no match from an empty lake.
        log::note(&format!("{}: no run is like that", arguments.lake.display()));
        if !arguments.json && listing.damaged.is_empty() {
            return Ok(0);
        }
    }
    print::answer(&listing, arguments.json, |listing, look| list::text(listing, &arguments.lake, look))
}
