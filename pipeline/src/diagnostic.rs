//! Diagnostics: one line of cause, one line of advice, and the exit code.

use crate::log;
use heaplake_compare::error::CompareError;
use heaplake_kit::StageError;
use heaplake_kit::text::{visible, visible_lines};
use heaplake_query::QueryError;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};

/// Exit codes of the process; a more serious one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// An input failed, or a verified run is damaged.
    Failed = 1,
    /// The command line, or something it names, cannot be used.
    Usage = 2,
    /// Out of memory or disk.
    Resources = 3,
    /// A gate failed, or could not be checked.
    Gate = 4,
    /// Interrupted by the user.
    Interrupted = 130,
}

/// Kind of a failure, for counts and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The input is damaged, or its format is unknown.
    Damaged,
    /// Out of the memory budget.
    Memory,
    /// Out of disk.
    Disk,
    /// The system refused to start a thread.
    Threads,
    /// A file could not be read or written.
    File,
    /// A table or a scratch column of heaplake is damaged.
    Stored,
    /// The request is not supported.
    Refused,
    /// Interrupted by the user.
    Interrupted,
}

impl Kind {
    /// Name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.strings().0
    }

    /// Words that follow a count of inputs.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.strings().1
    }

    fn strings(self) -> (&'static str, &'static str) {
        match self {
            Self::Damaged => ("damaged", "damaged"),
            Self::Memory => ("memory", "too large for the memory budget"),
            Self::Disk => ("disk", "too large for the disk"),
            Self::Threads => ("threads", "without threads"),
            Self::File => ("file", "unreadable or unwritable"),
            Self::Stored => ("stored", "with damaged tables or scratch"),
            Self::Refused => ("refused", "refused"),
            Self::Interrupted => ("interrupted", "interrupted"),
        }
    }
}

/// Result of a command: its exit code, or a diagnostic.
pub type Done = Result<u8, Diagnostic>;

/// Diagnostic of a failure.
#[derive(Debug)]
pub struct Diagnostic {
    /// One line of cause.
    pub cause: String,
    /// One line of advice.
    pub advice: String,
    /// Exit code.
    pub exit: Exit,
    /// Error of the stage that failed, if one did.
    pub error: Option<Box<StageError>>,
    /// The input that failed, if it is about one.
    pub input: Option<String>,
}

impl Diagnostic {
    /// Returns a diagnostic with exit code [`Exit::Failed`].
    pub fn failed(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { cause: cause.into(), advice: advice.into(), exit: Exit::Failed, error: None, input: None }
    }

    /// Returns a diagnostic for a command line that cannot be carried out.
    pub fn usage(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::failed(cause, advice) }
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> Kind {
        match self.error.as_deref() {
            Some(StageError::Input(_) | StageError::Overflow(_)) => Kind::Damaged,
            Some(StageError::Budget { .. } | StageError::Plan { .. }) => Kind::Memory,
            Some(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::OutOfMemory => Kind::Memory,
            Some(error @ StageError::Io { .. }) if error.is_resource() => Kind::Disk,
            Some(StageError::Io { .. }) => Kind::File,
            Some(StageError::Thread { .. }) => Kind::Threads,
            Some(StageError::Scratch { .. } | StageError::Table { .. }) => Kind::Stored,
            Some(StageError::Cancelled) => Kind::Interrupted,
            Some(StageError::Refused { .. } | StageError::Unusable { .. }) | None => Kind::Refused,
        }
    }

    /// Converts a stage error, with exit code [`Exit::Usage`] unless memory or disk ran out.
    pub fn of_usage(error: StageError) -> Self {
        let diagnostic = Self::from(error);
        Self { exit: diagnostic.exit.max(Exit::Usage), ..diagnostic }
    }

    /// Leaves out what an error quotes of the input.
    #[must_use]
    pub fn without_contents(self) -> Self {
        let Self { cause, advice, exit, error, input } = self;
        match error.map(|error| *error) {
            Some(StageError::Input(mut error)) if error.found.contains(['"', '`']) => {
                "something else, which is not shown".clone_into(&mut error.found);
                Self { exit, input, ..Self::from(StageError::Input(error)) }
            }
            error => Self { cause, advice, exit, error: error.map(Box::new), input },
        }
    }

    /// Adds the name of the input to the cause, which stays on one line.
    #[must_use]
    pub fn about(self, input: &str) -> Self {
        let input = visible(input);
        let cause = if self.cause.contains(&input) { self.cause } else { format!("{input}: {}", self.cause) };
        Self { cause: cause.replace(['\n', '\r'], " "), input: Some(input), ..self }
    }

    /// Writes the diagnostic to standard error; returns the exit code.
    pub fn tell(&self) -> u8 {
        // A write to a closed standard error cannot be reported anywhere.
        if log::is_json() {
            let Self { cause, advice, exit, input, .. } = self;
            let (kind, exit_code) = (self.kind().name(), *exit as u8);
            tracing::error!(event = "failed", input, kind, cause = visible(cause), advice, exit_code);
            return exit_code;
        }
        let [cause, advice] = [&self.cause, &self.advice].map(|text| visible_lines(text));
        let _ = writeln!(std::io::stderr(), "heaplake: {cause}\n  -> {advice}");
        self.exit as u8
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl From<StageError> for Diagnostic {
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
            input: None,
        }
    }
}

impl From<QueryError> for Diagnostic {
    fn from(QueryError { cause, advice, usage }: QueryError) -> Self {
        Self {
            cause: visible(&cause),
            advice,
            exit: if usage { Exit::Usage } else { Exit::Failed },
            error: None,
            input: None,
        }
    }
}

impl From<CompareError> for Diagnostic {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Refused { cause, advice } => Self::usage(cause, advice),
            CompareError::Stage(error) => error.into(),
        }
    }
}
