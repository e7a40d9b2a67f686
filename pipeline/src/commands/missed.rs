//! Runs that a command was to see and could not read.

use crate::complaint::{Complaint, Exit};
use clap::Args;
use heaplake_schemas::comparison::Missed;

/// Whether a command may leave out runs that it cannot read.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Skipping {
    /// Leave out runs that cannot be read, with a remark
    ///
    /// Without it, a run that is meant, or may be, and cannot be read is an error: the answer is that of the others, and the
    /// exit code is 1.
    #[arg(long)]
    pub skip_damaged: bool,
}

/// Says on standard error which runs were not seen; the exit code that this gives.
#[must_use]
pub fn tell(missed: &[Missed]) -> u8 {
    for Missed { path, problem } in missed {
        let cause = format!("{}: not seen: {problem}", path.display());
        let advice = "heaplake lake verify says more; --skip-damaged leaves it out, heaplake lake drop removes it";
        let _ = Complaint::failed(cause, advice).tell();
    }
    if missed.is_empty() { 0 } else { Exit::Failed as u8 }
}
