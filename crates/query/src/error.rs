//! Errors of queries.

use heaplake_input::kind::{self, Kind};
use heaplake_input::source::{Input, Source};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_lake::nearest::{self, clause};
use heaplake_schemas::run;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Error of a query.
#[derive(Clone, Debug)]
pub struct QueryError {
    /// Cause, one line.
    pub cause: String,
    /// Advice.
    pub advice: String,
    /// Whether the query is at fault, not the run.
    pub usage: bool,
}

impl QueryError {
    /// Error of an invalid query.
    pub(crate) fn usage(cause: String, advice: &str) -> Self {
        Self { cause, advice: advice.to_owned(), usage: true }
    }

    /// Error for a path that is not a run; names the kind of a file.
    pub fn no_run(path: &Path) -> Self {
        if path.is_file() {
            return Self::of_file(path);
        }
        let near = if path.exists() { String::new() } else { clause(&nearest::paths(path)) };
        let cause = format!("{}: no run: there is no run.json{near}", path.display());
        Self::usage(cause, NAME_ONE)
    }

    fn of_file(path: &Path) -> Self {
        let cause = |is: &str| format!("{}: no run: this is {is}", path.display());
        if let Some(folder) = path.parent().filter(|folder| folder.join(run::FILE).is_file()) {
            return Self::usage(cause("a file of a run"), &format!("name its folder: {}", folder.display()));
        }
        match kind(path) {
            Some(Kind { is, advice }) => Self::usage(cause(is), advice),
            None => Self::usage(cause("a file"), NAME_ONE),
        }
    }
}

const NAME_ONE: &str = "name a folder LAKE/release=…/snapshot=…";

/// Detects the kind of a file from its first bytes; `None` if unknown or unreadable.
fn kind(path: &Path) -> Option<Kind> {
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(0), threads: 1, progress: &Silent, cancel: &cancel };
    let mut source = Source::open(&Input::File(path.to_owned())).ok()?;
    source.peek(&context).ok().and_then(kind::of)
}

impl From<StageError> for QueryError {
    fn from(error: StageError) -> Self {
        Self { cause: error.to_string(), advice: error.advice(), usage: false }
    }
}
