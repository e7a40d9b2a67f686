//! Errors in the text of a filter.

use crate::error::QueryError;
use std::fmt;

/// An error in the text of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Column of the first wrong character, from 1.
    pub column: usize,
    /// What was expected and what was found.
    pub problem: String,
}

impl Wrong {
    pub(crate) fn new(column: usize, problem: impl Into<String>) -> Self {
        Self { column, problem: problem.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {} of the filter: {}", self.column, self.problem)
    }
}

impl From<Wrong> for QueryError {
    fn from(wrong: Wrong) -> Self {
        Self::usage(wrong.to_string(), "heaplake query --help has examples; --terms lists the terms")
    }
}
