//! `heaplake top`: the objects that retain most.

use super::choices::{pattern, run_named};
use crate::diagnostic::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::Asked;
use heaplake_query::top;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  heaplake top lake/release=none/snapshot=Heap-1f0c9a77 --class 'Session*'
  heaplake top lake/release=none/snapshot=Heap-1f0c9a77 --owner @acme/pricing -n 10")]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// Only objects of classes that match a glob; may be given again
    ///
    /// A pattern without a match is tried again ignoring case. Without a match again, the nearest names are printed.
    #[arg(long = "class", value_name = "GLOB", value_parser = pattern)]
    classes: Vec<String>,
    /// Only objects of owners that match a glob; may be given again
    ///
    /// An owner is a package, or a name of --owners of heaplake analyze. An object without an owner of its own counts for the owner that retains it. Together with --class, both match.
    #[arg(long = "owner", value_name = "GLOB", value_parser = pattern)]
    owners: Vec<String>,
    /// Number of objects
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let globs = |texts: &[String]| texts.iter().filter_map(|text| glob::Pattern::new(text).ok()).collect();
    let patterns = top::Patterns { classes: globs(&arguments.classes), owners: globs(&arguments.owners) };
    let answer = top::ask(&Asked::open(&arguments.run)?, &patterns, usize::from(arguments.count))?;
    print::answer(&answer, arguments.json, answers::top)
}
