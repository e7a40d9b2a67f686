//! Why there is no answer.

use heaplake_input::kind::{self, Kind};
use heaplake_input::source::{Input, Source};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_lake::nearest::{self, clause};
use heaplake_schemas::run;
use std::path::Path;
use std::sync::atomic::AtomicBool;

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

    /// A folder that is no run, or a file, which is named for what it is.
    #[must_use]
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

/// The kind of a file by how its content begins, where it is one that is known and the file can be read.
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
