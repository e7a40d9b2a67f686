//! Why there is no answer.

use heaplake_kit::StageError;
use std::path::Path;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct QueryError {
    /// What is wrong, in one line.
    pub cause: String,
    /// What to do.
    pub advice: String,
    /// Whether the question is at fault rather than the run.
    pub usage: bool,
}

impl QueryError {
    /// A question that cannot be asked.
    pub(crate) fn usage(cause: String, advice: &str) -> Self {
        Self { cause, advice: advice.to_owned(), usage: true }
    }

    /// A folder that is no run.
    #[must_use]
    pub fn no_run(folder: &Path) -> Self {
        let cause = format!("{}: no run: there is no run.json", folder.display());
        Self::usage(cause, "name a folder LAKE/release=…/snapshot=…")
    }
}

impl From<StageError> for QueryError {
    fn from(error: StageError) -> Self {
        Self { cause: error.to_string(), advice: error.advice(), usage: false }
    }
}
