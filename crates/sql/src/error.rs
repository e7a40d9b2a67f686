//! Errors of queries.

use crate::files::{is_changed, is_damaged};
use datafusion::error::DataFusionError;
use heaplake_kit::panics::Panic;
use heaplake_kit::{StageError, memory_limit};
use std::{fmt, io};

/// Kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The query, or something that it names, cannot be used.
    Query,
    /// Out of memory or disk.
    Resources,
    /// A file of the lake could not be read, or the result not written.
    File,
    /// A run was dropped or replaced before any row of it was written: the statement can be retried.
    Changed,
    /// Interrupted by the user.
    Interrupted,
}

/// Diagnostic of a query.
#[derive(Debug)]
pub struct SqlError {
    /// Cause, in one line.
    pub cause: String,
    /// Advice, in one line.
    pub advice: String,
    /// Its kind.
    pub kind: Kind,
}

impl SqlError {
    /// Error for a query that cannot be answered as written.
    pub fn query(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { cause: cause.into(), advice: advice.into(), kind: Kind::Query }
    }

    /// Error for a file that cannot be read or written.
    pub fn file(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { kind: Kind::File, ..Self::query(cause, advice) }
    }

    /// Error for a lack of memory, disk or threads.
    pub fn resources(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { kind: Kind::Resources, ..Self::query(cause, advice) }
    }

    /// Error for a lack of memory.
    pub fn memory(cause: impl Into<String>) -> Self {
        Self::resources(cause, memory_limit::ADVICE)
    }

    /// Error for a panic in a library.
    pub fn panicked(panic: &Panic) -> Self {
        // The engine reports overflows of sums only by panics.
        if panic.message().contains("with overflow") {
            let cause = format!("a number of the statement is too large: {}", panic.message());
            return Self::query(cause, "use smaller numbers, or cast to DOUBLE or DECIMAL");
        }
        let advice = "heaplake lake verify says whether a run is damaged; if none is, report this";
        Self::file(format!("the engine fails: {}", panic.message()), advice)
    }

    /// Makes the error final: rows were written, so the statement cannot be retried.
    #[must_use]
    pub fn final_one(self) -> Self {
        let kind = if self.kind == Kind::Changed { Kind::File } else { self.kind };
        Self { kind, ..self }
    }

    /// Error for an interrupt by the user.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, ..Self::query("interrupted", "nothing was written") }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for SqlError {}

/// Why an attached file cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable(pub String);

impl Unreadable {
    /// Advice to the user.
    const ADVICE: &str = "attach a CSV file with a header, tab-separated values or Parquet, and let nobody change it \
                          meanwhile";
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        let root = error.find_root();
        let (kind, full) = (kind(root), matches!(root, DataFusionError::IoError(_)));
        let is_attached = matches!(root, DataFusionError::External(error) if error.is::<Unreadable>());
        let message = error.strip_backtrace();
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        // Removes words for engine developers only.
        let cause = line.replace("Error during planning: ", "").replace("datafusion.public.", "");
        let cause = cause.replace("Parquet error: External: ", "").replace("External error: ", "");
        let advice = match kind {
            Kind::Query => "SHOW TABLES and DESCRIBE list what there is",
            Kind::Resources if full => {
                "give it more --memory, free some space or point --scratch to a larger disk, or raise ulimit -n"
            }
            Kind::Resources => memory_limit::ADVICE,
            Kind::File if is_attached => Unreadable::ADVICE,
            Kind::File | Kind::Changed => {
                "heaplake lake verify says which runs are damaged; one that was dropped meanwhile is gone"
            }
            Kind::Interrupted => "nothing was written",
        };
        Self { cause, advice: advice.to_owned(), kind }
    }
}

fn kind(error: &DataFusionError) -> Kind {
    match error {
        error if is_changed(error) => Kind::Changed,
        DataFusionError::ResourcesExhausted(_) => Kind::Resources,
        DataFusionError::IoError(error) if is_full(error) => Kind::Resources,
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) | DataFusionError::ParquetError(_) => Kind::File,
        DataFusionError::External(error)
            if error.is::<io::Error>() || error.is::<Unreadable>() || is_damaged(&**error) =>
        {
            Kind::File
        }
        // Functions report bad arguments, such as an invalid pattern.
        _ => Kind::Query,
    }
}

/// Error number for too many open files.
const OPEN_FILES: i32 = 24;

/// Whether the engine's spill has no space or no open file left.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) || error.raw_os_error() == Some(OPEN_FILES)
}

impl From<StageError> for SqlError {
    fn from(error: StageError) -> Self {
        let kind = if error.is_resource() { Kind::Resources } else { Kind::File };
        Self {
            cause: error.to_string(),
            advice: "name the folder that --out of heaplake analyze named".to_owned(),
            kind,
        }
    }
}
