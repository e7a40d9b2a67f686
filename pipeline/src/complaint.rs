//! Failures as people see them: one line of cause, one line of advice, and the exit code.

use crate::print::log;
use heaplake_compare::error::CompareError;
use heaplake_kit::StageError;
use heaplake_kit::text::{visible, visible_lines};
use heaplake_query::QueryError;
use serde::Serialize;
use std::fmt;
use std::io::Write;

/// Exit codes of the process, the more serious ones greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// An input failed, or a run is not what it should be.
    Failed = 1,
    /// The command line, or something that it names, cannot be used.
    Usage = 2,
    /// Memory or disk did not suffice.
    Resources = 3,
    /// A gate failed, or could not be checked.
    Gate = 4,
    /// The user stopped it.
    Interrupted = 130,
}

/// What kind of failure it is, for counts and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The input is damaged, or nothing that heaplake reads.
    Damaged,
    /// The memory budget did not suffice.
    Memory,
    /// The disk did not suffice.
    Disk,
    /// The system gave no threads.
    Threads,
    /// A file could not be read or written.
    File,
    /// Something of heaplake's own, a table or a scratch column, is damaged.
    Stored,
    /// It was asked for something that it does not do.
    Refused,
    /// The user stopped it.
    Interrupted,
}

impl Kind {
    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Threads => "threads",
            Self::File => "file",
            Self::Stored => "stored",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
        }
    }

    /// What it says behind a number of inputs.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Memory => "too large for the memory budget",
            Self::Disk => "too large for the disk",
            Self::Threads => "without threads",
            Self::File => "unreadable or unwritable",
            Self::Stored => "with damaged tables or scratch",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The exit code of a command, or why it was not carried out.
pub type Done = Result<u8, Complaint>;

/// Why something was not done.
#[derive(Debug)]
pub struct Complaint {
    /// One line of cause.
    pub cause: String,
    /// One line of what to do.
    pub advice: String,
    /// The exit code.
    pub exit: Exit,
    /// The error of the stage, where a stage failed.
    pub error: Option<Box<StageError>>,
}

impl Complaint {
    /// A failure.
    #[must_use]
    pub fn failed(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { cause: cause.into(), advice: advice.into(), exit: Exit::Failed, error: None }
    }

    /// A command that cannot be carried out as it is written.
    #[must_use]
    pub fn usage(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::failed(cause, advice) }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.error.as_deref() {
            Some(StageError::Input(_) | StageError::Overflow(_)) => Kind::Damaged,
            Some(StageError::Budget { .. } | StageError::Plan { .. }) => Kind::Memory,
            Some(error @ StageError::Io { .. }) if error.is_resource() => Kind::Disk,
            Some(StageError::Io { .. }) => Kind::File,
            Some(StageError::Thread { .. }) => Kind::Threads,
            Some(StageError::Scratch { .. } | StageError::Table { .. }) => Kind::Stored,
            Some(StageError::Cancelled) => Kind::Interrupted,
            Some(StageError::Refused { .. } | StageError::Unusable { .. }) | None => Kind::Refused,
        }
    }

    /// The same, of a failure that is one of usage unless memory or disk did not suffice.
    #[must_use]
    pub fn of_usage(error: StageError) -> Self {
        let complaint = Self::from(error);
        Self { exit: complaint.exit.max(Exit::Usage), ..complaint }
    }

    /// The same, with a cause of one line that names the input.
    #[must_use]
    pub fn about(self, input: &str) -> Self {
        let input = visible(input);
        let cause = if self.cause.contains(&input) { self.cause } else { format!("{input}: {}", self.cause) };
        Self { cause: cause.replace(['\n', '\r'], " "), ..self }
    }

    /// Says it on standard error; the exit code of the process.
    #[must_use]
    pub fn tell(&self) -> u8 {
        // Standard error is closed: there is nowhere to report that.
        if log::is_json() {
            let Self { cause, advice, exit, .. } = self;
            let (kind, exit_code) = (self.kind().name(), *exit as u8);
            tracing::error!(event = "failed", kind, cause = visible(cause), advice, exit_code);
            return exit_code;
        }
        let [cause, advice] = [&self.cause, &self.advice].map(|text| visible_lines(text));
        let _ = writeln!(std::io::stderr(), "heaplake: {cause}\n  -> {advice}");
        self.exit as u8
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl From<StageError> for Complaint {
    fn from(error: StageError) -> Self {
        let exit = match &error {
            StageError::Cancelled => Exit::Interrupted,
            StageError::Unusable { .. } => Exit::Usage,
            error if error.is_resource() => Exit::Resources,
            _ => Exit::Failed,
        };
        Self {
            cause: visible(&error.to_string()),
            advice: visible(&error.advice()),
            exit,
            error: Some(Box::new(error)),
        }
    }
}

impl From<QueryError> for Complaint {
    fn from(QueryError { cause, advice, usage }: QueryError) -> Self {
        Self { cause: visible(&cause), advice, exit: if usage { Exit::Usage } else { Exit::Failed }, error: None }
    }
}

impl From<CompareError> for Complaint {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Refused { cause, advice } => Self::usage(cause, advice),
            CompareError::Stage(error) => error.into(),
        }
    }
}
