//! `heaplake why`: paths that keep an object alive.

use super::choices::run_named;
use crate::diagnostic::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::why;
use heaplake_query::{Asked, Subject};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake why lake/release=none/snapshot=Heap-1f0c9a77 @70125",
    after_long_help = "A shortest path needs a run with the table of edges: for files over 256 MiB that is analyze --edges.\n\nExample:\n  heaplake why lake/release=none/snapshot=Heap-1f0c9a77 @70125"
)]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// The object: its number in the table of nodes, or @ and its id
    #[arg(value_name = "NODE|@ID")]
    subject: Subject,
    /// Print the N shortest paths
    #[arg(short = 'n', long = "paths", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    paths: Option<u16>,
    /// Print all holders as a tree, merged by class and edge label
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let wanted = why::Wanted { paths: arguments.paths.map(usize::from), all: arguments.all };
    let answer = why::ask(&Asked::open(&arguments.run)?, arguments.subject, wanted)?;
    print::answer(&answer, arguments.json, answers::why)
}
