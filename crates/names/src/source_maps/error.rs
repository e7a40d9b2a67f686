//! Errors of source map files.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// A map that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    /// The file or folder.
    pub file: String,
    /// Description of the problem.
    pub problem: String,
}

impl MapError {
    pub(super) fn of(file: impl AsRef<Path>, problem: String) -> Self {
        Self { file: file.as_ref().display().to_string(), problem }
    }

    pub(super) fn unreadable(file: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::of(file, format!("cannot read: {error}"))
    }
}

impl Display for MapError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}
