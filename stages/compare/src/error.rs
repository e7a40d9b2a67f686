//! Why a comparison was not made.

use heaplake_kit::StageError;
use heaplake_lake::nearest::{self, clause};
use heaplake_lake::selection::Found;

/// Why a comparison was not made.
#[derive(Debug)]
pub enum CompareError {
    /// What was asked for cannot be compared.
    Refused {
        /// One line of cause.
        cause: String,
        /// One line of what to do.
        advice: String,
    },
    /// A table could not be read or written, memory did not suffice, or the user stopped it.
    Stage(StageError),
}

impl CompareError {
    /// A refusal.
    #[must_use]
    pub fn refused(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Refused { cause: cause.into(), advice: advice.into() }
    }
}

impl From<StageError> for CompareError {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

/// The error of a label that none of some runs has, with the nearest that they have.
pub fn no_label<'a>(name: &str, runs: impl Iterator<Item = &'a Found>) -> CompareError {
    let labels = runs.flat_map(|found| found.run.options.labels().keys().cloned());
    let near = clause(&nearest::nearest(name, labels));
    CompareError::refused(format!("no run has a label {name}{near}"), "heaplake show prints the labels of a run")
}
