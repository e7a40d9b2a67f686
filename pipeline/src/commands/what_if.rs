//! `heaplake what-if`: what would be freed if some references were not there.

use super::choices::run_named;
use crate::diagnostic::Done;
use crate::print::{self, what_if as text};
use clap::Args;
use heaplake_query::{Asked, Cut, what_if};
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake what-if lake/web1 --cut Session.history
  heaplake what-if lake/web1 --cut com.shop.Cache.entries --cut 'com.shop.Registry[]' --json
  heaplake what-if lake/web1 --cut @70125

A cut is Class.field (also a property, or a variable of a closure), Class[] for the elements of containers and arrays, or \
 an object, to which all references are cut. * and ? in it stand for any text and any character. The answer is exact: \
 the bytes of all objects that a root reaches now and would not reach then. Each --cut is asked by itself, and all of \
 them together. It needs a run with the table of edges: for files over 256 MiB that is analyze --edges.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake what-if lake/web1 --cut Session.history", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    run: PathBuf,
    /// References to cut: Class.field, Class[], or an object
    ///
    /// It may be given up to 62 times.
    #[arg(long = "cut", value_name = "CUT", required = true)]
    cuts: Vec<Cut>,
    /// Classes and holders listed per cut
    #[arg(short = 'n', long = "top", value_name = "N", default_value_t = 5)]
    most: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let answer = what_if::ask(&Asked::open(&arguments.run)?, &arguments.cuts, arguments.most.into())?;
    print::answer(&answer, arguments.json, text::what_if)
}
