//! Why a comparison was not made.

use heaplake_kit::StageError;

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
