//! `heaplake explore`: a page in the browser, served on loopback.

use super::batch::stopped_by_signals;
use super::choices::Effort;
use crate::diagnostic::{Diagnostic, Done};
use crate::explore::Questions;
use crate::mcp::{LakeTools, Resources};
use crate::print;
use clap::Args;
use heaplake_explore::server::Listening;
use heaplake_kit::StageError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MORE: &str = "\
Examples:
  heaplake explore lake
  heaplake explore lake/release=2.4.0/snapshot=leaking --port 8080

It prints a URL: open it in a browser of this machine. The page lists the runs of a lake with their findings, and shows \
 of each run its classes, owners, largest objects, dominator tree and duplicates, and of each object its fields, its \
 references in both directions, and the paths that keep it alive. Two runs or releases can be compared.

The server listens on 127.0.0.1 only, asks for the token of the URL, reads the runs as they are, and changes nothing. It \
 ends with Ctrl-C and exit code 0. docs/explore.md has the views, the keys and the limits.";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake explore lake", after_long_help = MORE)]
pub(crate) struct Arguments {
    /// A lake, a folder release=… in one, or a run
    #[arg(value_name = "LAKE|RUN")]
    path: PathBuf,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Resources of all answers together
    #[command(flatten)]
    effort: Effort,
}

/// Serves until a signal comes.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let stop = stopped_by_signals();
    let resources = Resources { memory: arguments.effort.memory(), threads: arguments.effort.threads() };
    let tools = LakeTools::open(&arguments.path, resources)?;
    let listening = Listening::open(arguments.port).map_err(|error| taken(arguments.port, &error))?;
    match print::text(&format!("{}\n", listening.url())) {
        0 => {}
        code => return Ok(code),
    }
    match listening.serve(Arc::new(Questions::new(tools, resources)), &stop) {
        Ok(()) => Ok(0),
        Err(error) => Err(Diagnostic::from(StageError::io(Path::new("127.0.0.1"), "listen on", error))),
    }
}

fn taken(port: u16, error: &std::io::Error) -> Diagnostic {
    let cause = format!("127.0.0.1:{port}: cannot listen: {error}");
    Diagnostic::usage(cause, "name another --port, or none for a free one")
}
