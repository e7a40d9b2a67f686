//! `heaplake mcp`: a server of the Model Context Protocol over standard input and output.

use super::batch::stopped_by_signals;
use super::choices::Effort;
use crate::diagnostic::{Diagnostic, Done};
use crate::mcp::{LakeTools, Resources};
use clap::Args;
use heaplake_kit::StageError;
use heaplake_mcp::server;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MORE: &str = "\
Examples:
  claude mcp add heaplake -- heaplake mcp /data/lake
  heaplake mcp lake/release=2.4.0/snapshot=leaking

An agent gets ten tools: overview, findings, top, class, object, why, dominated, compare, clusters and query. They read \
 the runs that are there when they are called. Nothing is analysed or changed. Answers take at most 6,000 bytes unless a \
 call asks for more, say what they cover, and name the next useful calls. docs/agents.md has the configuration of \
 clients, an example of each answer, and the limits.

Standard output has the protocol only. The server ends with standard input, or a signal, with exit code 0.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: claude mcp add heaplake -- heaplake mcp /data/lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// A lake, a folder release=… in one, or a run
    #[arg(value_name = "LAKE|RUN")]
    path: PathBuf,
    /// Resources of comparisons and statements
    #[command(flatten)]
    effort: Effort,
}

/// Serves until the client leaves.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let stop = stopped_by_signals();
    let resources = Resources { memory: arguments.effort.memory(), threads: arguments.effort.threads() };
    let tools = LakeTools::open(&arguments.path, resources)?;
    match server::serve(Arc::new(tools), &stop) {
        Ok(()) => Ok(0),
        Err(error) => Err(Diagnostic::from(StageError::io(Path::new("standard output"), "write", error))),
    }
}
