//! `heaplake lake`: commands on a lake as a whole.

pub(super) mod choosing;
pub(super) mod compact;
pub(super) mod drop;
pub(super) mod index;
pub(super) mod label;
pub(super) mod ls;
pub(super) mod merge;
pub(super) mod verify;
pub(super) mod views;

use crate::diagnostic::Done;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  heaplake lake ls lake --release '2.4.*' --since 7d
  heaplake lake verify lake
  heaplake lake drop lake --keep-last 5 --older-than 30d
  heaplake lake label lake --release 2.4.1 --set stage=canary --yes
  heaplake lake merge host1/lake host2/lake --out lake
  heaplake lake compact lake";

#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    /// List the runs of a lake
    Ls(ls::Arguments),
    /// Check every file of every run against its checksum
    Verify(verify::Arguments),
    /// Drop runs: by name, release or label, old ones, all but the last
    Drop(Box<drop::Arguments>),
    /// Change labels of runs
    Label(Box<label::Arguments>),
    /// Merge the runs of other lakes
    Merge(merge::Arguments),
    /// Pack the small tables of many runs into few files
    Compact(Box<compact::Arguments>),
    /// Write the catalogue of the runs anew
    Index(index::Arguments),
    /// Print statements that make views of the lake in DuckDB or Spark
    Views(views::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    match &arguments.verb {
        Verb::Ls(arguments) => ls::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments),
        Verb::Drop(arguments) => drop::run(arguments),
        Verb::Label(arguments) => label::run(arguments),
        Verb::Merge(arguments) => merge::run(arguments),
        Verb::Compact(arguments) => compact::run(arguments),
        Verb::Index(arguments) => index::run(arguments),
        Verb::Views(arguments) => views::run(arguments),
    }
}
