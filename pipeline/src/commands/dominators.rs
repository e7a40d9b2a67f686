//! `heaplake dominators`: the objects that an object dominates.

use super::choices::run_named;
use crate::diagnostic::Done;
use crate::print::{self, answers};
use clap::Args;
use heaplake_query::tree;
use heaplake_query::{Asked, Subject};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake dominators lake/release=none/snapshot=Heap-1f0c9a77 @70125 --depth 4")]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// The object: number in the table of nodes, or @ and id [default: the root]
    #[arg(value_name = "NODE|@ID")]
    subject: Option<Subject>,
    /// Levels of the tree
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=50))]
    depth: u8,
    /// Children to print per object
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    children: u8,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let (depth, children) = (usize::from(arguments.depth), usize::from(arguments.children));
    let answer = tree::ask(&Asked::open(&arguments.run)?, arguments.subject, depth, children)?;
    print::answer(&answer, arguments.json, answers::dominators)
}
