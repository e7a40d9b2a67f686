//! Failures as people see them: one line of cause, one line of advice, and the exit code.

use heaplake_compare::error::CompareError;
use heaplake_kit::StageError;
use heaplake_kit::text::{visible, visible_lines};
use heaplake_query::QueryError;
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
