//! `heaplake object`: contents of objects.

use super::choices::run_named;
use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, contents};
use clap::Args;
use heaplake_query::object::{self, Which};
use heaplake_query::{Asked, Subject};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  heaplake object lake/release=none/snapshot=Heap-1f0c9a77 @70125\n  heaplake object lake/release=none/snapshot=Heap-1f0c9a77 --set 0",
    after_long_help = "The run must have the table of values: analyze --values, or later duplicates RUN --values.\n\nExamples:\n  heaplake object lake/release=none/snapshot=Heap-1f0c9a77 @70125\n  heaplake object lake/release=none/snapshot=Heap-1f0c9a77 --set 0 -n 4"
)]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// Objects: numbers in the table of nodes, or @ and ids
    #[arg(value_name = "NODE|@ID", required_unless_present = "set", conflicts_with = "set")]
    subjects: Vec<Subject>,
    /// Members of this set of duplicates
    #[arg(long, value_name = "N")]
    set: Option<u32>,
    /// Number of members
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    count: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Maximum objects side by side.
const MOST: usize = 16;

pub(crate) fn run(arguments: &Arguments) -> Done {
    if arguments.subjects.len() > MOST {
        let cause = format!("{} objects do not fit side by side", arguments.subjects.len());
        return Err(Diagnostic::usage(cause, "name 16 at most"));
    }
    let which = match arguments.set {
        Some(set) => Which::Set(set, arguments.count.into()),
        None => Which::Subjects(arguments.subjects.clone()),
    };
    let answer = object::ask(&Asked::open(&arguments.run)?, &which)?;
    print::answer(&answer, arguments.json, contents::text)
}
