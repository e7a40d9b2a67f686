//! The errors of stages. Each message names the file and gives advice.

use crate::overhead::FIXED_OVERHEAD;
use crate::scheme::is_url;
use crate::stop;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Advice for a URL given to a build without object stores.
pub const WITHOUT_STORES: &str =
    "build heaplake with object stores: cargo install --locked --path pipeline --features stores";

/// The reason why a stage stopped.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The input violates its format.
    #[error("{0}")]
    Input(Box<InputError>),
    /// A file could not be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed action, a verb.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The memory budget is too small.
    #[error("the memory budget is too small: {who} needs {wanted} bytes more, {free} of {limit} are free")]
    Budget {
        /// Name of the reservation.
        who: &'static str,
        /// Requested bytes.
        wanted: u64,
        /// Free bytes.
        free: u64,
        /// The whole budget, bytes.
        limit: u64,
    },
    /// The plan shows in advance that the budget is too small.
    #[error("the memory budget of {limit} bytes is too small for stage {stage} on this input")]
    Plan {
        /// The stage with the largest need.
        stage: &'static str,
        /// The budget, bytes.
        limit: u64,
        /// The smallest sufficient budget, bytes.
        suffices: u64,
    },
    /// A scratch column is damaged.
    #[error("{}: damaged scratch column: {problem}", path.display())]
    Scratch {
        /// The column's file.
        path: PathBuf,
        /// The damage.
        problem: String,
    },
    /// A table of a run does not match its schema.
    #[error("{}: damaged table: {problem}", path.display())]
    Table {
        /// The table's file.
        path: PathBuf,
        /// The damage.
        problem: String,
    },
    /// The request cannot be answered from the existing data.
    #[error("{problem}")]
    Refused {
        /// The reason.
        problem: String,
        /// The advice.
        advice: String,
    },
    /// A path given by the user cannot be used for its purpose (exit code 2).
    #[error("{}: {problem}", path.display())]
    Unusable {
        /// The file or the folder.
        path: PathBuf,
        /// The reason.
        problem: String,
        /// The advice.
        advice: &'static str,
    },
    /// A sum exceeds 64 bits.
    #[error("{0} is larger than 2^64 - 1 bytes")]
    Overflow(&'static str),
    /// The system refused to start a thread that the run needs.
    #[error("cannot start a thread: {source}")]
    Thread {
        /// The error of the system.
        source: io::Error,
    },
    /// The run was cancelled.
    #[error("interrupted")]
    Cancelled,
}

/// Adds a file to the result of a system call.
pub trait IoAt<T> {
    /// Wraps an error by [`StageError::io`].
    fn at(self, path: &Path, action: &'static str) -> Result<T, StageError>;
}

impl<T> IoAt<T> for io::Result<T> {
    fn at(self, path: &Path, action: &'static str) -> Result<T, StageError> {
        self.map_err(|error| StageError::io(path, action, error))
    }
}

/// The error of an access to one element. Boxed, so that a small `Result` is returned in registers.
pub type Fault = Box<StageError>;

impl From<Fault> for StageError {
    fn from(fault: Fault) -> Self {
        *fault
    }
}

/// A defect of the input: its location, the expected and the actual content, and advice.
#[derive(Debug)]
pub struct InputError {
    /// The input as the user named it.
    pub file: String,
    /// Offset in bytes of the (decompressed) content.
    pub offset: u64,
    /// The content that the format requires.
    pub expected: String,
    /// The actual content.
    pub found: String,
    /// Advice.
    pub hint: &'static str,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: byte {}: expected {}, found {}", self.file, self.offset, self.expected, self.found)
    }
}

impl From<InputError> for StageError {
    fn from(error: InputError) -> Self {
        Self::Input(Box::new(error))
    }
}

impl StageError {
    /// Creates the error of an input at an offset, with advice.
    pub fn input(
        file: impl Into<String>,
        offset: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        let (file, expected, found) = (file.into(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint }.into()
    }

    /// Wraps an I/O error with its file and the failed action (a verb, as in "cannot *read*"). A wait interrupted by
    /// the user becomes [`Self::Cancelled`].
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        if stop::is(&source) {
            return Self::Cancelled;
        }
        Self::Io { path: path.to_owned(), action, source }
    }

    /// Refuses a path given by the user.
    pub fn unusable(path: &Path, problem: impl Into<String>, advice: &'static str) -> Self {
        Self::Unusable { path: path.to_owned(), problem: problem.into(), advice }
    }

    /// A scratch file is damaged.
    pub fn scratch(path: &Path, problem: impl Into<String>) -> Self {
        Self::Scratch { path: path.to_owned(), problem: problem.into() }
    }

    /// A scratch file has another length than it was written with.
    pub fn cut_off(path: &Path, had: u64, has: u64) -> Self {
        Self::scratch(path, format!("it had {had} bytes, and now has {has}"))
    }

    /// An input file changed between two reads.
    pub fn changed(file: &str) -> Self {
        Self::Refused {
            problem: format!("{file}: the file changed while it was read"),
            advice: "wait until it is written to its end, and run the same command again".to_owned(),
        }
    }

    /// True if more memory or disk would help (exit code 3).
    pub fn is_resource(&self) -> bool {
        match self {
            Self::Budget { .. } | Self::Plan { .. } | Self::Thread { .. } => true,
            Self::Io { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull
                        | io::ErrorKind::QuotaExceeded
                        | io::ErrorKind::FileTooLarge
                        | io::ErrorKind::OutOfMemory
                )
            }
            _ => false,
        }
    }

    /// Advice in one line.
    pub fn advice(&self) -> String {
        match self {
            Self::Input(error) => error.hint.to_owned(),
            Self::Budget { limit, free, wanted, .. } => {
                // `--memory` covers this budget and the fixed buffers outside it.
                let needed = (limit - free).saturating_add(*wanted).saturating_add(FIXED_OVERHEAD);
                format!("raise --memory to at least {}", mebibytes(needed))
            }
            Self::Plan { suffices, .. } => format!("raise --memory to at least {}", mebibytes(*suffices)),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
                "raise the limit of the process's address space (ulimit -v), or lower --memory or --threads".to_owned()
            }
            Self::Io { .. } if self.is_resource() => {
                "free some space, or point --out and --scratch to a larger disk".to_owned()
            }
            Self::Io { path, source, .. } if is_url(path) => of_store(source.kind()).to_owned(),
            Self::Io { .. } => "check that the path exists and that you may use it".to_owned(),
            Self::Scratch { .. } => "remove the scratch folder and run again".to_owned(),
            Self::Table { .. } => "analyse the snapshot again, with --force".to_owned(),
            Self::Refused { advice, .. } => advice.clone(),
            Self::Unusable { advice, .. } => (*advice).to_owned(),
            Self::Overflow(_) => "the sizes in this file cannot be right; take the snapshot again".to_owned(),
            Self::Thread { .. } => "raise the limit of processes (ulimit -u, or pids of the cgroup)".to_owned(),
            Self::Cancelled => "run the same command again".to_owned(),
        }
    }
}

/// Returns advice about an error of an object store.
fn of_store(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::Unsupported => WITHOUT_STORES,
        io::ErrorKind::ReadOnlyFilesystem => "name a folder of this machine",
        _ => "check the name, the credentials in the environment (docs/stores.md) and the connection, and run it again",
    }
}

/// Formats bytes as whole mebibytes, rounded up, as `--memory` takes them.
fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_mapping_is_a_lack_of_memory() {
        let of = |kind: io::ErrorKind| StageError::io(Path::new("x"), "map", kind.into());
        let [memory, disk, file] =
            [io::ErrorKind::OutOfMemory, io::ErrorKind::StorageFull, io::ErrorKind::NotFound].map(of);
        assert!(memory.is_resource() && memory.advice().contains("ulimit -v"), "{}", memory.advice());
        assert!(disk.is_resource() && disk.advice().contains("--scratch"), "{}", disk.advice());
        assert!(!file.is_resource());
    }
}
