//! `heaplake top`: the objects that retain most.

use super::choices::{pattern, run_named};
use crate::diagnostic::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::Asked;
use heaplake_query::top;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake top lake/release=none/snapshot=Heap-1f0c9a77 --class 'Session*'")]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// Only objects of classes that match a glob; may be given again
    ///
    /// A pattern without a match is tried again ignoring case. Without a match again, the nearest names are printed.
    #[arg(long = "class", value_name = "GLOB", value_parser = pattern)]
    classes: Vec<String>,
    /// Number of objects
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let patterns: Vec<_> = arguments.classes.iter().filter_map(|text| glob::Pattern::new(text).ok()).collect();
    let answer = top::ask(&Asked::open(&arguments.run)?, &patterns, usize::from(arguments.count))?;
    print::answer(&answer, arguments.json, answers::top)
}
