//! `heaplake ls`: the runs of a lake.

use crate::complaint::Done;
use crate::print::{self, list};
use clap::Args;
use heaplake_query::list as runs;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake ls lake
  heaplake ls lake --json | jq '.runs[] | select(.findings.high > 0) | .path'

A run is listed with its release, name, format, when its input was captured (UTC), objects and size of the heap (of a \
 trace: what was allocated), and findings by severity. PARTIAL marks the analysis of a damaged input. What is damaged \
 in the lake itself is named below the runs and does not stop the list. A lake without runs is no error.";

/// Arguments of `ls`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake ls lake", after_long_help = MORE)]
pub struct Arguments {
    /// The lake: the folder that --out named
    #[arg(value_name = "LAKE")]
    pub lake: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the list.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where there is no such folder; damaged runs are part of the list.
pub fn run(arguments: &Arguments) -> Done {
    let listing = runs::ask(&arguments.lake)?;
    print::answer(&listing, arguments.json, |listing, look| list::text(listing, &arguments.lake, look))
}
