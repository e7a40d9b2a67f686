//! `heaplake show`: the summary of an existing run.

use super::choices::run_named;
use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, summary};
use clap::Args;
use heaplake_lake::selection;
use heaplake_query::QueryError;
use heaplake_schemas::run::Run;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake show lake/release=none/snapshot=Heap-1f0c9a77")]
pub(crate) struct Arguments {
    /// Folder of a run, or LAKE/NAME with the beginning of its name
    #[arg(value_name = "RUN", value_parser = run_named())]
    pub(super) run: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints the summary.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let run = read(&arguments.run)?;
    if arguments.json {
        print::json(&*run)
    } else {
        print::answer(&*run, false, |run, look| summary::text(run, &arguments.run, look))
    }
}

/// Reads the description of a run.
pub(crate) fn read(folder: &Path) -> Result<Arc<Run>, Diagnostic> {
    Ok(selection::open(folder)?.ok_or_else(|| QueryError::no_run(folder))?.run)
}
