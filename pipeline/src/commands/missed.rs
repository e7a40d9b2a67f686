//! Runs that a command should read and cannot.

use crate::diagnostic::{Diagnostic, Exit};
use clap::Args;
use heaplake_schemas::comparison::Missed;

/// Whether a command may skip unreadable runs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Skipping {
    /// Leave out runs that cannot be read, with a remark
    ///
    /// By default, a selected or possibly selected run that cannot be read is an error: the answer covers the other
    /// runs, and the exit code is 1.
    #[arg(long)]
    pub skip_damaged: bool,
}

/// Reports unread runs on standard error; returns the resulting exit code.
pub(super) fn tell(missed: &[Missed]) -> u8 {
    for Missed { path, problem } in missed {
        let cause = format!("{}: not seen: {problem}", path.display());
        let advice = "heaplake lake verify says more; --skip-damaged leaves it out, heaplake lake drop removes it";
        let _ = Diagnostic::failed(cause, advice).tell();
    }
    if missed.is_empty() { 0 } else { Exit::Failed as u8 }
}
