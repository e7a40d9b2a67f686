//! Errors of comparisons.

use heaplake_kit::StageError;
use heaplake_lake::nearest::{self, clause};
use heaplake_lake::selection::FoundRun;

/// Error of a comparison.
#[derive(Debug)]
pub enum CompareError {
    /// The request cannot be compared.
    Refused {
        /// Cause, one line.
        cause: String,
        /// Advice, one line.
        advice: String,
    },
    /// A table could not be read or written, memory did not suffice, or the user cancelled.
    Stage(StageError),
}

impl CompareError {
    /// Creates a refusal.
    pub fn refused(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Refused { cause: cause.into(), advice: advice.into() }
    }
}

impl From<StageError> for CompareError {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

/// Refusal for a label that none of the runs has, with the nearest existing one.
pub fn no_label<'a>(name: &str, runs: impl Iterator<Item = &'a FoundRun>) -> CompareError {
    let labels = runs.flat_map(|found| found.run.labels.iter().map(|(name, _)| name.to_owned()));
    let near = clause(&nearest::nearest(name, labels));
    CompareError::refused(format!("no run has a label {name}{near}"), "heaplake show prints the labels of a run")
}
